// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/doors.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <utility>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "daemon/log.hpp"

namespace perfvigil::daemon {
namespace {

// An occupied port is tried again, so that a restart heals it.
constexpr auto kListenRetry = std::chrono::seconds(10);
constexpr std::size_t kMaxToken = 4096;

Result<api::Rules> rules_of(const config::ListenOptions& listen) {
    api::Rules rules{.allowed_hosts = listen.allowed_hosts};
    if (listen.token_file.empty()) return rules;
    const auto text = read_file(listen.token_file, kMaxToken);
    if (!text) return fail(Error(text.error()).at("listen.token_file"));
    rules.token = trim(*text);
    if (rules.token.empty()) return fail(ErrorCode::kInvalid, listen.token_file + ": holds no token");
    return rules;
}

// What a listening socket is bound to.
std::optional<std::pair<std::string, std::uint16_t>> tcp_address(int fd) {
    boost::asio::ip::tcp::endpoint endpoint;
    auto size = static_cast<socklen_t>(endpoint.capacity());
    if (::getsockname(fd, endpoint.data(), &size) != 0) return std::nullopt;
    endpoint.resize(size);
    return std::pair(endpoint.address().to_string(), endpoint.port());
}

// Where a browser of this host finds the port. An address that means all of them means the loopback one too.
std::string origin_of(std::string address, std::uint16_t port) {
    if (address == "0.0.0.0") address = "127.0.0.1";
    if (address == "::") address = "::1";
    const bool v6 = address.contains(':');
    return "http://" + (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

collector::Degraded listen_trouble(const config::ListenOptions& listen, const Error& error) {
    return {"listen", "nothing is served over TCP: " + error.message,
            error.code == ErrorCode::kBusy || error.error_number == EADDRINUSE
                ? "end what holds the port (ss -ltnp 'sport = :" + std::to_string(listen.port) +
                      "'), or set listen.address; it is tried again every 10 s"
                : "correct listen.address and listen.token_file; it is tried again every 10 s"};
}

collector::Degraded read_trouble(const config::SocketOptions& sockets, const Error& error) {
    return {"read_socket", "there is no socket for reading only: " + error.message,
            error.code == ErrorCode::kNotFound
                ? "groupadd --system " + sockets.read_group + ", or set sockets.read_group"
                : "set sockets.read to a path that can be made, or to \"\" for none"};
}

}  // namespace

Result<void> Doors::open() {
    passed_ = take_passed_sockets();
    const auto passed = [&](std::string_view name) {
        return std::ranges::find(passed_, name, &PassedSocket::name) != passed_.end();
    };
    const auto& sockets = options_.sockets;
    if (!passed("control")) {
        auto socket = ControlSocket::bind(sockets.control, sockets.mode, sockets.group);
        if (!socket) return fail(std::move(socket.error()).at("control socket"));
        control_.emplace(std::move(*socket));
    }
    if (passed("read") || sockets.read.empty()) return {};
    auto socket = ControlSocket::bind(sockets.read, sockets.mode, sockets.read_group);
    if (socket) {
        read_.emplace(std::move(*socket));
        return {};
    }
    degraded_.set("read_socket", {read_trouble(sockets, socket.error())});
    log::warning("no read socket", {{"why", socket.error().message}});
    return {};
}

void Doors::serve(api::Source& source) {
    server_.emplace(io_, [this, &source](const api::Request& request) { return answer(request, source); });
    serve("control", control_, api::Door::kControl);
    serve("read", read_, api::Door::kRead);
    if (auto fd = take(passed_, "http"))
        serve_passed_tcp(std::move(fd));
    else if (options_.listen.enabled)
        listen_tcp();
    for (const auto& other : passed_) {
        log::warning("a socket was passed whose name is none of control, read and http", {{"name", other.name}});
    }
    passed_.clear();
}

void Doors::serve(std::string_view name, std::optional<ControlSocket>& bound, api::Door door) {
    auto fd = take(passed_, name);
    if (!fd && bound) fd = UniqueFd(bound->release_fd());
    if (!fd) return;
    if (auto served = server_->listen_on(fd.release(), door); !served) {
        log::error("socket not served", {{"name", name}, {"why", served.error().message}});
    }
}

void Doors::serve_passed_tcp(UniqueFd fd) {
    auto rules = rules_of(options_.listen);
    const auto bound = tcp_address(fd.get());
    auto served = rules ? server_->listen_on(fd.release(), api::Door::kTcp) : Result<void>(fail(rules.error()));
    if (!served) return degraded_.set("listen", {listen_trouble(options_.listen, served.error())});
    rules_ = std::move(*rules);
    if (bound) rules_.origin = origin_of(bound->first, bound->second);
}

// Until it works: without the token nothing is served, with the port taken all else is.
void Doors::listen_tcp() {
    const auto& listen = options_.listen;
    auto rules = rules_of(listen);
    auto port = rules ? server_->listen_tcp(listen.address, listen.port)
                      : Result<std::uint16_t>(fail(std::move(rules.error())));
    if (port) {
        rules_ = std::move(*rules);
        rules_.origin = origin_of(listen.address, *port);
        degraded_.clear("listen");
        log::info("listening", {{"address", listen.address}, {"port", *port}});
        return;
    }
    degraded_.set("listen", {listen_trouble(listen, port.error())});
    retry_.expires_after(kListenRetry);
    retry_.async_wait([this](const boost::system::error_code& error) {
        if (!error) listen_tcp();
    });
}

// What changes something leaves a line that says who did it.
api::Response Doors::answer(const api::Request& request, api::Source& source) const {
    auto response = respond(request, rules_, source);
    if (request.method == "GET" || request.method == "HEAD" || !request.peer) return response;
    log::info("audit", {{"uid", request.peer->uid},
                        {"pid", request.peer->pid},
                        {"exe", program_of(request.peer->pid)},
                        {"request", std::string(request.method) + " " + std::string(request.target)},
                        {"status", response.status}});
    return response;
}

Result<void> Doors::reload(const config::ListenOptions& listen) {
    if (!listen.enabled) return {};
    auto rules = rules_of(listen);
    if (!rules) return fail(std::move(rules.error()));
    rules->origin = std::move(rules_.origin);
    rules_ = std::move(*rules);
    return {};
}

void Doors::stop_accepting() {
    retry_.cancel();
    if (server_) server_->stop_accepting();
}

void Doors::close() {
    retry_.cancel();
    if (server_) server_->close();
}

}  // namespace perfvigil::daemon
