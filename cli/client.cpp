// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/client.hpp"

#include <array>
#include <csignal>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "cli/store_folder.hpp"
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
// The daemon answers a question for the next slice within 15 s.
constexpr std::chrono::seconds kWatchLimit(30);
constexpr std::chrono::seconds kWatchPause(1);

// Where talking failed, with what the system said.
struct Failure {
    const char* step = "";
    boost::system::error_code code;
};
struct Outcome {
    std::optional<Failure> failure;
    Reply reply;
};

struct Question {
    http::verb method = http::verb::get;
    std::string target{};
    std::chrono::seconds limit{};
};

asio::awaitable<void> exchange(Stream& stream, const std::string& socket_path, const Question& question,
                               Outcome& outcome) {
    stream.expires_after(question.limit);
    const Local::endpoint endpoint(socket_path);
    if (auto [error] = co_await stream.async_connect(endpoint, kAwait); error) {
        outcome.failure = Failure{"connect", error};
        co_return;
    }
    http::request<http::empty_body> request{question.method, question.target, 11};
    request.set(http::field::host, "localhost");
    request.set(http::field::user_agent, "perfvigil/" PERFVIGIL_VERSION);
    request.set(http::field::connection, "close");
    if (question.method == http::verb::post) request.content_length(0);
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

// The group that owns the socket; what it should be, where that cannot be seen.
std::string group_of(const std::string& path) {
    struct stat status{};
    std::array<char, 4096> buffer{};
    group entry{};
    group* found = nullptr;
    if (::stat(path.c_str(), &status) == 0 &&
        ::getgrgid_r(status.st_gid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
        return escape(found->gr_name);
    }
    return base_name(path) == base_name(protocol::kDefaultReadSocket) ? "perfvigil-read" : "perfvigil";
}

// The socket for reading only that lies beside a control socket.
std::string read_socket_beside(const std::string& path) {
    const auto control = base_name(protocol::kDefaultControlSocket);
    if (base_name(path) != control) return {};
    return path.substr(0, path.size() - control.size()) + std::string(base_name(protocol::kDefaultReadSocket));
}

Error explain(const Failure& failure, const std::string& socket_path) {
    const auto where = fmt::format("{}: {}", socket_path, failure.code.message());
    const auto errors = [&](boost::system::errc::errc_t code) { return failure.code == code; };
    if (errors(boost::system::errc::permission_denied)) {
        return {ErrorCode::kPermission, failure.code.value(),
                fmt::format("{}; the socket is open to root and to members of the group {}: usermod -aG {} USER, then "
                            "log in anew",
                            where, group_of(socket_path), group_of(socket_path))};
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
    // systemd's sockets take callers in while the daemon starts, and drop them when it cannot.
    if (errors(boost::system::errc::connection_reset) || errors(boost::system::errc::broken_pipe) ||
        failure.code == http::error::end_of_stream || failure.code == http::error::partial_message) {
        return {ErrorCode::kIo, failure.code.value(),
                fmt::format("{} ({}): the daemon ended before it answered; systemctl status perfvigild says why", where,
                            failure.step)};
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

Error refusal_of(const Reply& reply) {
    return {reply.status == 404 ? ErrorCode::kNotFound : ErrorCode::kInvalid, 0, refusal_in(reply.body)};
}

Result<Reply> ask_once(const std::string& socket_path, const Question& question) {
    if (socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
        return fail(ErrorCode::kInvalid, socket_path + ": too long for a Unix socket's path");
    }
    asio::io_context io;
    Stream stream(io);
    Outcome outcome;
    std::exception_ptr thrown;
    asio::co_spawn(io, exchange(stream, socket_path, question, outcome),
                   [&](std::exception_ptr exception) { thrown = std::move(exception); });
    io.run();
    if (thrown) std::rethrow_exception(thrown);
    if (outcome.failure) return fail(explain(*outcome.failure, socket_path));
    if (outcome.reply.status >= 400) return fail(refusal_of(outcome.reply));
    return std::move(outcome.reply);
}

// What a streamed answer came to.
struct Streamed {
    std::optional<Failure> failure;
    std::optional<Reply> refused;
    Result<void> taken;
};

// Ctrl-C is a half-closed connection: the daemon ends what it does and says the rest.
asio::awaitable<void> watch_signals(Stream& stream, asio::signal_set& signals) {
    if (auto [error, number] = co_await signals.async_wait(kAwait); error) co_return;
    boost::system::error_code ignored;
    stream.socket().shutdown(asio::socket_base::shutdown_send, ignored);
    if (auto [error, number] = co_await signals.async_wait(kAwait); error) co_return;
    stream.close();
}

asio::awaitable<void> read_pieces(Stream& stream, const std::function<Result<void>(std::string_view)>& take,
                                  Streamed& out) {
    beast::flat_buffer buffer;
    http::response_parser<http::buffer_body> parser;
    parser.body_limit(boost::none);
    if (auto [error, got] = co_await http::async_read_header(stream, buffer, parser, kAwait); error) {
        out.failure = Failure{"receive", error};
        co_return;
    }
    const unsigned status = parser.get().result_int();
    std::string refusal;
    std::vector<char> piece(1U << 16);
    while (!parser.is_done()) {
        parser.get().body() = {piece.data(), piece.size(), true};
        auto [error, got] = co_await http::async_read_some(stream, buffer, parser, kAwait);
        if (error && error != http::error::need_buffer) {
            out.failure = Failure{"receive", error};
            co_return;
        }
        const std::string_view bytes(piece.data(), piece.size() - parser.get().body().size);
        if (status >= 400)
            refusal += bytes;
        else
            out.taken = take(bytes);
        if (!out.taken) co_return;
    }
    if (status >= 400) out.refused = Reply{status, std::move(refusal)};
}

asio::awaitable<void> exchange_stream(Stream& stream, const std::string& socket_path, const std::string& target,
                                      const std::function<Result<void>(std::string_view)>& take, Streamed& out) {
    const Local::endpoint endpoint(socket_path);
    if (auto [error] = co_await stream.async_connect(endpoint, kAwait); error) {
        out.failure = Failure{"connect", error};
        co_return;
    }
    http::request<http::empty_body> request{http::verb::post, target, 11};
    request.set(http::field::host, "localhost");
    request.set(http::field::user_agent, "perfvigil/" PERFVIGIL_VERSION);
    request.content_length(0);
    if (auto [error, sent] = co_await http::async_write(stream, request, kAwait); error) {
        out.failure = Failure{"send", error};
        co_return;
    }
    co_await read_pieces(stream, take, out);
}

Result<Reply> ask(const std::string& socket_path, const Question& question) {
    auto reply = ask_once(socket_path, question);
    const auto beside = read_socket_beside(socket_path);
    if (reply || reply.error().code != ErrorCode::kPermission || beside.empty()) return reply;
    auto read = ask_once(beside, question);
    // Where there is none the control socket's trouble is the one to tell.
    return !read && read.error().code == ErrorCode::kNotFound && read.error().error_number != 0 ? reply : read;
}

// Where the control socket is not open to us, the read socket beside it is asked from then on.
asio::awaitable<void> ask_again(std::string path, const Watch& how) {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer pause(executor);
    while (true) {
        Outcome outcome;
        {
            Stream stream(executor);
            const Question question{http::verb::get, how.target(), kWatchLimit};
            co_await exchange(stream, path, question, outcome);
        }
        const auto beside = read_socket_beside(path);
        if (outcome.failure && outcome.failure->code == boost::system::errc::permission_denied && !beside.empty()) {
            path = beside;
            continue;
        }
        if (!outcome.failure && outcome.reply.status < 400) {
            how.on_reply(outcome.reply);
            continue;
        }
        how.on_trouble(outcome.failure ? explain(*outcome.failure, path) : refusal_of(outcome.reply));
        pause.expires_after(kWatchPause);
        if (auto [error] = co_await pause.async_wait(kAwait); error) co_return;
    }
}

asio::awaitable<void> read_keys(asio::io_context& io, asio::posix::stream_descriptor& terminal, const Watch& how) {
    std::array<char, 64> keys{};
    while (true) {
        auto [error, size] = co_await terminal.async_read_some(asio::buffer(keys), kAwait);
        if (error || !how.on_keys(std::string_view(keys.data(), size))) break;
    }
    io.stop();
}

asio::awaitable<void> heed_signals(asio::io_context& io, asio::signal_set& signals, const Watch& how) {
    while (true) {
        auto [error, number] = co_await signals.async_wait(kAwait);
        if (error || number != SIGWINCH) break;
        how.on_resize();
    }
    io.stop();
}

}  // namespace

Result<void> watch(const std::string& socket_path, const Watch& how) {
    if (socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
        return fail(ErrorCode::kInvalid, socket_path + ": too long for a Unix socket's path");
    }
    // Opened anew: what is read without blocking must not share its state with standard output.
    auto keyboard = open_file("/dev/tty", O_RDONLY | O_NOCTTY);
    if (!keyboard) return fail(std::move(keyboard.error()));
    asio::io_context io(1);
    asio::posix::stream_descriptor terminal(io, keyboard->release());
    asio::signal_set signals(io, SIGINT, SIGTERM, SIGHUP);
    signals.add(SIGWINCH);
    if (auto started = how.on_start(); !started) return started;
    std::exception_ptr thrown;
    const auto on_end = [&](std::exception_ptr exception) {
        if (!exception) return;
        thrown = std::move(exception);
        io.stop();
    };
    asio::co_spawn(io, ask_again(socket_path, how), on_end);
    asio::co_spawn(io, read_keys(io, terminal, how), on_end);
    asio::co_spawn(io, heed_signals(io, signals, how), on_end);
    io.run();
    if (thrown) std::rethrow_exception(thrown);
    return {};
}

Result<Reply> get(const std::string& socket_path, const std::string& target, std::chrono::seconds limit) {
    if (const auto folder = store_of(socket_path)) return get_from_store(*folder, target);
    return ask(socket_path, {http::verb::get, target, limit});
}

Result<Reply> post(const std::string& socket_path, const std::string& target) {
    constexpr std::chrono::seconds kLimit(30);
    return ask(socket_path, {http::verb::post, target, kLimit});
}

Result<void> post_stream(const std::string& socket_path, const std::string& target,
                         const std::function<Result<void>(std::string_view)>& take) {
    if (socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
        return fail(ErrorCode::kInvalid, socket_path + ": too long for a Unix socket's path");
    }
    asio::io_context io;
    Stream stream(io);
    asio::signal_set signals(io, SIGINT, SIGTERM);
    Streamed out;
    asio::co_spawn(io, watch_signals(stream, signals), asio::detached);
    std::exception_ptr thrown;
    asio::co_spawn(io, exchange_stream(stream, socket_path, target, take, out), [&](std::exception_ptr exception) {
        thrown = std::move(exception);
        signals.cancel();
    });
    io.run();
    if (thrown) std::rethrow_exception(thrown);
    if (out.failure) return fail(explain(*out.failure, socket_path));
    if (!out.taken) return std::move(out.taken);
    if (out.refused) return fail(refusal_of(*out.refused));
    return {};
}

std::string percent_encoded(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view("-._~/,:").contains(c);
        out += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
    }
    return out;
}

}  // namespace perfvigil::cli
