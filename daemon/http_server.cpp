// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/http_server.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <list>

#include "daemon/http_message.hpp"
#include "daemon/later.hpp"
#include "daemon/log.hpp"
#include "daemon/peer_limits.hpp"

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
constexpr auto kLongestSleep = std::chrono::hours(1);
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
                                         const HttpLimits& limits, bool first) {
    limit(parser);
    if (buffer.size() == 0) {
        // Who connects has something to ask; who has asked may come back later.
        stream.expires_after(steady(first ? limits.request_time : limits.idle_time));
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

// Reads what a caller sends while it is answered, which is nothing: its end is all there is to learn.
template <class Protocol>
asio::awaitable<void> watch_caller(std::shared_ptr<Stream<Protocol>> stream, std::shared_ptr<BodyStream> body) {
    std::array<char, 256> ignored{};
    while (true) {
        const auto [error, read] = co_await stream->async_read_some(asio::buffer(ignored), kAwait);
        if (error == asio::error::eof) body->caller_finished();
        if (error) co_return;
    }
}

// Sends what comes until it ends, in chunks.
template <class Protocol>
asio::awaitable<void> send_pieces(Stream<Protocol>& stream, BodyStream& body, asio::steady_timer& news,
                                  Nanoseconds limit) {
    while (true) {
        const auto piece = body.take();
        if (!piece.bytes.empty()) {
            stream.expires_after(steady(limit));
            const auto chunk = http::make_chunk(asio::buffer(piece.bytes));
            const auto [error, written] = co_await asio::async_write(stream, chunk, kAwait);
            if (error) co_return body.caller_gone();
        }
        if (piece.last) break;
        if (!piece.bytes.empty()) continue;
        news.expires_after(steady(body.patience()));
        (void)co_await news.async_wait(kAwait);
    }
    stream.expires_after(steady(limit));
    const auto last = http::make_chunk_last();
    (void)co_await asio::async_write(stream, last, kAwait);
}

// Sleeps until the answer is there.
template <class Protocol>
asio::awaitable<api::Response> arrival(std::shared_ptr<Stream<Protocol>> stream, api::Response promised) {
    const auto executor = stream->get_executor();
    const auto news = std::make_shared<asio::steady_timer>(executor);
    auto wake = [executor, news] { asio::post(executor, [news] { news->cancel(); }); };
    promised.later->on_news(wake);
    auto response = promised.later->take();
    while (!response) {
        news->expires_after(kLongestSleep);
        (void)co_await news->async_wait(kAwait);
        response = promised.later->take();
    }
    promised.later->on_news({});
    std::ranges::move(promised.headers, std::back_inserter(response->headers));
    co_return std::move(*response);
}

template <class Protocol>
asio::awaitable<void> stream_response(std::shared_ptr<Stream<Protocol>> stream, const api::Response& response,
                                      const HttpLimits& limits) {
    const auto body = response.stream;
    http::response<http::empty_body> head = stream_head(response);
    http::response_serializer<http::empty_body> serializer(head);
    stream->expires_after(steady(limits.response_time));
    const auto [error, written] = co_await http::async_write_header(*stream, serializer, kAwait);
    if (error) co_return body->caller_gone();
    const auto executor = stream->get_executor();
    const auto news = std::make_shared<asio::steady_timer>(executor);
    auto wake = [executor, news] { asio::post(executor, [news] { news->cancel(); }); };
    body->on_news(wake);
    stream->expires_never();
    auto watched = watch_caller(stream, body);
    asio::co_spawn(executor, std::move(watched), on_end);
    co_await send_pieces(*stream, *body, *news, limits.response_time);
    body->on_news({});
    error_code ignored;
    stream->socket().shutdown(asio::socket_base::shutdown_send, ignored);
    stream->close();  // which ends the watch
}

}  // namespace

struct HttpServer::State : std::enable_shared_from_this<State> {
    using Self = std::shared_ptr<State>;

    // What a connection is at; the order is that in which they make room.
    enum class Phase : std::uint8_t { kReading, kWriting, kStreaming };
    struct Session {
        std::function<void()> close{};
        api::Door door = api::Door::kTcp;
        std::optional<Peer> peer{};
        Phase phase = Phase::kReading;
        MonotonicTime since{};  // in that phase
        bool closing = false;
    };
    using Sessions = std::list<Session>;

    State(asio::io_context& context, Handler handle, HttpLimits bounds)
        : io(context),
          handler(std::move(handle)),
          limits(bounds),
          peers(bounds.requests_per_second, bounds.requests_at_once) {}

    static void enter(Session& session, Phase phase) {
        session.phase = phase;
        session.since = system_clock().monotonic();
    }

    api::Response answer(const api::Request& request) {
        if (request.peer && !peers.admits(request.peer->uid, system_clock().monotonic())) {
            auto response = api::refusal(429, "too many requests of this user; ask more slowly");
            response.headers.emplace_back("Retry-After", "1");
            return response;
        }
        return handler(request);
    }

    // Serves one connection to its end.
    template <class Protocol>
    static asio::awaitable<void> session(Self self, std::shared_ptr<Stream<Protocol>> stream, Session& place) {
        const auto& limits = self->limits;
        beast::flat_buffer buffer;
        for (std::size_t served = 1; served <= limits.requests_per_connection; ++served) {
            enter(place, Phase::kReading);
            RequestParser parser;
            const auto error = co_await read_request(*stream, buffer, parser, limits, served == 1);
            enter(place, Phase::kWriting);
            if (error) {
                const auto refusal = answer_to(error);
                if (!refusal) break;
                auto message = to_message(*refusal, 11, false, false);
                co_await write_response(*stream, message, false, limits.response_time);
                break;
            }
            const auto& request = parser.get();
            const RequestView view(request, place.door, place.peer);
            auto response = self->answer(view.request());
            if (response.later) {
                enter(place, Phase::kStreaming);
                api::Response arrived = co_await arrival<Protocol>(stream, std::move(response));
                response = std::move(arrived);
                enter(place, Phase::kWriting);
            }
            if (response.stream) {
                enter(place, Phase::kStreaming);
                co_await stream_response<Protocol>(stream, response, limits);
                break;
            }
            const bool keep_alive = request.keep_alive() && served < limits.requests_per_connection;
            const bool head = request.method() == http::verb::head;
            auto message = to_message(response, request.version(), keep_alive, head);
            const bool written = co_await write_response(*stream, message, head, limits.response_time);
            if (!written || !keep_alive) break;
        }
        error_code ignored;
        stream->socket().shutdown(asio::socket_base::shutdown_send, ignored);
    }

    [[nodiscard]] std::size_t open_at(api::Door door, std::optional<uid_t> user) const {
        return static_cast<std::size_t>(std::ranges::count_if(sessions, [&](const Session& session) {
            return !session.closing && session.door == door && (!user || (session.peer && session.peer->uid == *user));
        }));
    }

    // Closes the one that has been reading for longest, else the one that has been writing for longest; false: all
    // stream.
    bool make_room(api::Door door, std::optional<uid_t> user) {
        Session* oldest = nullptr;
        for (auto& session : sessions) {
            if (session.closing || session.door != door || session.phase == Phase::kStreaming) continue;
            if (user && (!session.peer || session.peer->uid != *user)) continue;
            if (oldest == nullptr ||
                std::pair(session.phase, session.since) < std::pair(oldest->phase, oldest->since)) {
                oldest = &session;
            }
        }
        if (oldest == nullptr) return false;
        oldest->closing = true;
        oldest->close();
        ++refused;
        return true;
    }

    [[nodiscard]] bool admits(api::Door door, const std::optional<Peer>& peer) {
        if (peer && open_at(door, peer->uid) >= limits.connections_per_user && !make_room(door, peer->uid))
            return false;
        return open_at(door, {}) < limits.connections || make_room(door, {});
    }

    template <class Protocol>
    void begin_session(typename Stream<Protocol>::socket_type socket, api::Door door) {
        const auto peer = door == api::Door::kTcp ? std::nullopt : peer_of(socket.native_handle());
        if (!admits(door, peer)) {
            ++refused;
            return;  // the socket's end is the answer: a full house writes no letters
        }
        auto stream = std::make_shared<Stream<Protocol>>(std::move(socket));
        const auto place =
            sessions.insert(sessions.end(), {.close = [stream] { stream->close(); }, .door = door, .peer = peer});
        auto ended = [self = shared_from_this(), place](const std::exception_ptr& failure) {
            self->sessions.erase(place);
            on_end(failure);
        };
        asio::co_spawn(io, session<Protocol>(shared_from_this(), stream, *place), std::move(ended));
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
        const auto closer = acceptors.insert(acceptors.end(), [acceptor] {
            error_code ignored;
            acceptor->close(ignored);
        });
        auto ended = [self = shared_from_this(), closer](const std::exception_ptr& failure) {
            self->acceptors.erase(closer);
            on_end(failure);
        };
        asio::co_spawn(io, accept_loop<Protocol>(shared_from_this(), std::move(acceptor), door), std::move(ended));
    }

    template <class Protocol>
    Result<void> listen_on(Protocol protocol, int fd, api::Door door) {
        auto acceptor = std::make_shared<Acceptor<Protocol>>(io);
        error_code error;
        acceptor->assign(protocol, fd, error);
        if (error) return fail_errno(error.value(), "listening socket");
        begin_accepting<Protocol>(std::move(acceptor), door);
        return {};
    }

    asio::io_context& io;
    Handler handler;
    HttpLimits limits;
    PeerLimits peers;
    std::list<std::function<void()>> acceptors;  // what closes them
    Sessions sessions;
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

Result<void> HttpServer::listen_on(int fd, api::Door door) {
    if (door != api::Door::kTcp) return state_->listen_on(asio::local::stream_protocol(), fd, door);
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return fail_errno(errno, "socket");
    using asio::ip::tcp;
    return state_->listen_on(address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), fd, door);
}

void HttpServer::stop_accepting() {
    state_->closed = true;
    // Closing only cancels: the lists shrink later, when the coroutines see it.
    for (const auto& close : state_->acceptors) close();
    for (const auto& session : state_->sessions) {
        if (session.phase != State::Phase::kStreaming) session.close();
    }
}

bool HttpServer::streams() const {
    return std::ranges::any_of(state_->sessions,
                               [](const auto& session) { return session.phase == State::Phase::kStreaming; });
}

void HttpServer::close() {
    stop_accepting();
    for (const auto& session : state_->sessions) session.close();
}

std::uint64_t HttpServer::refused_connections() const { return state_->refused; }

}  // namespace perfvigil::daemon
