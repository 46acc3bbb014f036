// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/client.hpp"

#include <optional>

#include <fmt/core.h>
#include <sys/un.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>

#include "base/text.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Local = asio::local::stream_protocol;
using Stream = beast::basic_stream<Local>;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::uint64_t kMaxBody = 256U << 20;

// Where talking failed, with what the system said.
struct Failure {
    const char* step = "";
    boost::system::error_code code;
};
struct Outcome {
    std::optional<Failure> failure;
    Reply reply;
};

asio::awaitable<void> exchange(Stream& stream, const std::string& socket_path, const std::string& target,
                               std::chrono::seconds limit, Outcome& outcome) {
    stream.expires_after(limit);
    const Local::endpoint endpoint(socket_path);
    if (auto [error] = co_await stream.async_connect(endpoint, kAwait); error) {
        outcome.failure = Failure{"connect", error};
        co_return;
    }
    http::request<http::empty_body> request{http::verb::get, target, 11};
    request.set(http::field::host, "localhost");
    request.set(http::field::user_agent, "perfvigil/" PERFVIGIL_VERSION);
    request.set(http::field::connection, "close");
    if (auto [error, sent] = co_await http::async_write(stream, request, kAwait); error) {
        outcome.failure = Failure{"send", error};
        co_return;
    }
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(kMaxBody);
    if (auto [error, got] = co_await http::async_read(stream, buffer, parser, kAwait); error) {
        outcome.failure = Failure{"receive", error};
        co_return;
    }
    outcome.reply = {parser.get().result_int(), std::move(parser.get().body())};
}

Error explain(const Failure& failure, const std::string& socket_path) {
    const auto where = fmt::format("{}: {}", socket_path, failure.code.message());
    const auto errors = [&](boost::system::errc::errc_t code) { return failure.code == code; };
    if (errors(boost::system::errc::permission_denied)) {
        return {ErrorCode::kPermission, failure.code.value(),
                where +
                    "; the socket is open to root and to members of the group that owns it (perfvigil): "
                    "usermod -aG perfvigil USER, then log in anew"};
    }
    if (errors(boost::system::errc::no_such_file_or_directory) || errors(boost::system::errc::connection_refused)) {
        return {ErrorCode::kNotFound, failure.code.value(),
                where +
                    "; no daemon listens there: start it (systemctl start perfvigild), or name its socket with "
                    "--socket"};
    }
    if (failure.code == beast::error::timeout) {
        return {ErrorCode::kBusy, 0, fmt::format("{}: no answer in time ({})", socket_path, failure.step)};
    }
    return {ErrorCode::kIo, failure.code.value(), fmt::format("{} ({})", where, failure.step)};
}

// The daemon's sentence: {"error": "…"} below /v1, else the body itself.
std::string refusal_in(std::string_view body) {
    boost::system::error_code wrong;
    const auto parsed = boost::json::parse(body, wrong);
    if (!wrong && parsed.is_object()) {
        const auto* sentence = parsed.get_object().if_contains(protocol::field::kError);
        if (sentence != nullptr && sentence->is_string()) return std::string(sentence->get_string());
    }
    return std::string(trim(body));
}

}  // namespace

Result<Reply> get(const std::string& socket_path, const std::string& target, std::chrono::seconds limit) {
    if (socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
        return fail(ErrorCode::kInvalid, socket_path + ": too long for a Unix socket's path");
    }
    asio::io_context io;
    Stream stream(io);
    Outcome outcome;
    std::exception_ptr thrown;
    asio::co_spawn(io, exchange(stream, socket_path, target, limit, outcome),
                   [&](std::exception_ptr exception) { thrown = std::move(exception); });
    io.run();
    if (thrown) std::rethrow_exception(thrown);
    if (outcome.failure) return fail(explain(*outcome.failure, socket_path));
    if (outcome.reply.status >= 400) {
        return fail(outcome.reply.status == 404 ? ErrorCode::kNotFound : ErrorCode::kInvalid,
                    refusal_in(outcome.reply.body));
    }
    return std::move(outcome.reply);
}

}  // namespace perfvigil::cli
