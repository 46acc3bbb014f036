// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/http_message.hpp"

namespace perfvigil::daemon {
namespace {

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

template <class Message>
void set_head(Message& message, const api::Response& response) {
    message.result(response.status);
    message.set(http::field::server, "perfvigild/" PERFVIGIL_VERSION);
    message.set(http::field::content_type,
                boost::beast::string_view(response.content_type.data(), response.content_type.size()));
    for (const auto& [name, value] : response.headers) message.set(std::string(name), value);
}

}  // namespace

RequestView::RequestView(const http::request<http::string_body>& message, api::Door door, std::optional<Peer> peer) {
    for (const auto& header : message) headers_.push_back({view(header.name_string()), view(header.value())});
    request_ = {view(message.method_string()), view(message.target()), headers_, door, peer};
}

http::response<http::empty_body> stream_head(const api::Response& response) {
    http::response<http::empty_body> message;
    message.version(11);
    set_head(message, response);
    message.keep_alive(false);
    message.chunked(true);
    return message;
}

ResponseMessage to_message(const api::Response& response, unsigned version, bool keep_alive, bool head) {
    ResponseMessage message;
    message.version(version);
    set_head(message, response);
    const auto content = response.content();
    if (!head) message.body() = {content.data(), content.size()};
    message.keep_alive(keep_alive);
    message.content_length(content.size());
    return message;
}

std::optional<api::Response> answer_to(const boost::system::error_code& error) {
    if (error == http::error::end_of_stream) return std::nullopt;
    if (error == http::error::header_limit) return api::refusal(431, "the header is longer than 8 KiB");
    if (error == http::error::body_limit) return api::refusal(413, "no body is accepted");
    if (error == http::error::partial_message) return std::nullopt;
    if (error.category() != make_error_code(http::error::bad_method).category()) return std::nullopt;
    return api::refusal(400, "not an HTTP request: " + error.message());
}

}  // namespace perfvigil::daemon
