// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/http_server.hpp"

#include <array>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <list>

#include "daemon/http_message.hpp"
#include "daemon/log.hpp"

namespace perfvigil::daemon {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

template <class Protocol>
using Stream = beast::basic_stream<Protocol, asio::any_io_executor>;
template <class Protocol>
using Acceptor = asio::basic_socket_acceptor<Protocol, asio::any_io_executor>;

// Errors come back as values.
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
// After a failed accept (out of descriptors), so that the loop does not spin.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

std::chrono::steady_clock::duration steady(Nanoseconds d) {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(d);
}

// An exception out of a session is a bug of ours, or memory that ran out: it costs the session, not the daemon.
void on_end(const std::exception_ptr& failure) {
    if (!failure) return;
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        log::error("an HTTP session ended by an exception", {{"what", error.what()}});
    }
}

// Waits for the first byte as long as a connection may idle, then for the rest as long as a request may take.
template <class Protocol>
asio::awaitable<error_code> read_request(Stream<Protocol>& stream, beast::flat_buffer& buffer, RequestParser& parser,
                                         const HttpLimits& limits) {
    limit(parser);
    if (buffer.size() == 0) {
        stream.expires_after(steady(limits.idle_time));
        const auto space = buffer.prepare(1024);
        const auto [error, read] = co_await stream.async_read_some(space, kAwait);
        if (error) co_return error;
        buffer.commit(read);
    }
    stream.expires_after(steady(limits.request_time));
    const auto [error, read] = co_await http::async_read(stream, buffer, parser, kAwait);
    co_return error;
}

template <class Protocol>
asio::awaitable<bool> write_response(Stream<Protocol>& stream, ResponseMessage& message, bool head, Nanoseconds limit) {
    http::response_serializer<http::span_body<const char>> serializer(message);
    stream.expires_after(steady(limit));
    if (head) {
        const auto [error, written] = co_await http::async_write_header(stream, serializer, kAwait);
        co_return !error;
    }
    const auto [error, written] = co_await http::async_write(stream, serializer, kAwait);
    co_return !error;
}

}  // namespace

struct HttpServer::State : std::enable_shared_from_this<State> {
    using Self = std::shared_ptr<State>;
    using Closers = std::list<std::function<void()>>;

    State(asio::io_context& context, Handler handle, HttpLimits bounds)
        : io(context), handler(std::move(handle)), limits(bounds) {}

    // Serves one connection to its end.
    template <class Protocol>
    static asio::awaitable<void> session(Self self, std::shared_ptr<Stream<Protocol>> stream, api::Door door) {
        const auto& limits = self->limits;
        beast::flat_buffer buffer;
        for (std::size_t served = 1; served <= limits.requests_per_connection; ++served) {
            RequestParser parser;
            const auto error = co_await read_request(*stream, buffer, parser, limits);
            if (error) {
                const auto refusal = answer_to(error);
                if (!refusal) break;
                auto message = to_message(*refusal, 11, false, false);
                co_await write_response(*stream, message, false, limits.response_time);
                break;
            }
            const auto& request = parser.get();
            const RequestView view(request, door);
            const auto response = self->handler(view.request());
            const bool keep_alive = request.keep_alive() && served < limits.requests_per_connection;
            const bool head = request.method() == http::verb::head;
            auto message = to_message(response, request.version(), keep_alive, head);
            const bool written = co_await write_response(*stream, message, head, limits.response_time);
            if (!written || !keep_alive) break;
        }
        error_code ignored;
        stream->socket().shutdown(asio::socket_base::shutdown_send, ignored);
    }

    template <class Protocol>
    void begin_session(typename Stream<Protocol>::socket_type socket, api::Door door) {
        auto& open = connections[static_cast<std::size_t>(door)];
        if (open >= limits.connections) {
            ++refused;
            return;  // the socket's end is the answer: a full house writes no letters
        }
        ++open;
        auto stream = std::make_shared<Stream<Protocol>>(std::move(socket));
        const auto closer = closers.insert(closers.end(), [stream] { stream->close(); });
        auto ended = [self = shared_from_this(), closer, door](const std::exception_ptr& failure) {
            --self->connections[static_cast<std::size_t>(door)];
            self->closers.erase(closer);
            on_end(failure);
        };
        asio::co_spawn(io, session<Protocol>(shared_from_this(), stream, door), std::move(ended));
    }

    template <class Protocol>
    static asio::awaitable<void> accept_loop(Self self, std::shared_ptr<Acceptor<Protocol>> acceptor, api::Door door) {
        asio::steady_timer pause(self->io);
        while (!self->closed) {
            auto [error, socket] = co_await acceptor->async_accept(kAwait);
            if (error == asio::error::operation_aborted || self->closed) break;
            if (!error) {
                self->begin_session<Protocol>(std::move(socket), door);
                continue;
            }
            pause.expires_after(kAcceptPause);
            const auto [waited] = co_await pause.async_wait(kAwait);
            if (waited) break;
        }
    }

    template <class Protocol>
    void begin_accepting(std::shared_ptr<Acceptor<Protocol>> acceptor, api::Door door) {
        const auto closer = closers.insert(closers.end(), [acceptor] {
            error_code ignored;
            acceptor->close(ignored);
        });
        auto ended = [self = shared_from_this(), closer](const std::exception_ptr& failure) {
            self->closers.erase(closer);
            on_end(failure);
        };
        asio::co_spawn(io, accept_loop<Protocol>(shared_from_this(), std::move(acceptor), door), std::move(ended));
    }

    asio::io_context& io;
    Handler handler;
    HttpLimits limits;
    Closers closers;                           // one per open acceptor and session
    std::array<std::size_t, 2> connections{};  // by door
    std::uint64_t refused = 0;
    bool closed = false;
};

HttpServer::HttpServer(asio::io_context& io, Handler handler, HttpLimits limits)
    : state_(std::make_shared<State>(io, std::move(handler), limits)) {}

HttpServer::~HttpServer() { close(); }

Result<std::uint16_t> HttpServer::listen_tcp(const std::string& address, std::uint16_t port) {
    using asio::ip::tcp;
    error_code error;
    const auto name = asio::ip::make_address(address, error);
    if (error) return fail(ErrorCode::kInvalid, address + ": " + error.message());
    const tcp::endpoint endpoint(name, port);
    auto acceptor = std::make_shared<Acceptor<tcp>>(state_->io);
    acceptor->open(endpoint.protocol(), error);
    if (!error) acceptor->set_option(asio::socket_base::reuse_address(true), error);
    if (!error && name.is_v6()) acceptor->set_option(asio::ip::v6_only(true), error);
    if (!error) acceptor->bind(endpoint, error);
    if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
    if (error) return fail_errno(error.value(), "listening on " + address + " port " + std::to_string(port));
    const auto bound = acceptor->local_endpoint(error);
    if (error) return fail_errno(error.value(), address);
    state_->begin_accepting<tcp>(std::move(acceptor), api::Door::kTcp);
    return bound.port();
}

Result<void> HttpServer::listen_control(int fd) {
    using asio::local::stream_protocol;
    auto acceptor = std::make_shared<Acceptor<stream_protocol>>(state_->io);
    error_code error;
    acceptor->assign(stream_protocol(), fd, error);
    if (error) return fail_errno(error.value(), "control socket");
    state_->begin_accepting<stream_protocol>(std::move(acceptor), api::Door::kControl);
    return {};
}

void HttpServer::close() {
    state_->closed = true;
    // Closing only cancels: the list shrinks later, when the coroutines see it.
    for (const auto& closer : state_->closers) closer();
}

std::uint64_t HttpServer::refused_connections() const { return state_->refused; }

}  // namespace perfvigil::daemon
