// SPDX-License-Identifier: GPL-2.0-or-later
// Between Beast's messages and ours, with the limits on what is accepted. Knows no sockets, so the fuzzer can drive it.
#pragma once

#include <boost/beast/http.hpp>
#include <vector>

#include "daemon/api.hpp"

namespace perfvigil::daemon {

namespace http = boost::beast::http;

inline constexpr std::uint32_t kMaxRequestHeader = 8192;
inline constexpr std::uint64_t kMaxRequestBody = 0;

using RequestParser = http::request_parser<http::string_body>;
// A parser that refuses what is larger than we answer.
inline void limit(RequestParser& parser) {
    parser.header_limit(kMaxRequestHeader);
    parser.body_limit(kMaxRequestBody);
}

// Views into `message`, which must outlive it.
class RequestView {
public:
    RequestView(const http::request<http::string_body>& message, api::Door door, std::optional<Peer> peer = {});

    [[nodiscard]] const api::Request& request() const { return request_; }

private:
    std::vector<api::Header> headers_;
    api::Request request_;
};

using ResponseMessage = http::response<http::span_body<const char>>;
// The body is a view of `response`, which must outlive the message. To a HEAD only the head is given, with the length
// that the body would have.
[[nodiscard]] ResponseMessage to_message(const api::Response& response, unsigned version, bool keep_alive, bool head);

// The head of an answer that comes over time, in chunks; the connection ends with it.
[[nodiscard]] http::response<http::empty_body> stream_head(const api::Response& response);

// The answer to bytes that Beast refused with `error`; nullopt: not worth one (the peer went away).
[[nodiscard]] std::optional<api::Response> answer_to(const boost::system::error_code& error);

}  // namespace perfvigil::daemon
