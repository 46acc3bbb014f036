// SPDX-License-Identifier: GPL-2.0-or-later
// Listeners and their sessions: reads a request, asks the handler, writes the response. Every wait has a limit and the
// number of connections is bounded. Where a door is full the connection that has kept its request to itself for longest
// makes room, so that callers who open many and say nothing hinder nobody.
// Thread: io; close() and the destructor too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/time.hpp"
#include "daemon/api.hpp"

namespace boost::asio {
class io_context;
}

namespace perfvigil::daemon {

struct HttpLimits {
    std::size_t connections = 64;                         // per door
    std::size_t connections_per_user = 24;                // of one uid, per Unix socket
    double requests_per_second = 100;                     // of one uid, over both Unix sockets …
    double requests_at_once = 200;                        // … and so many before that counts
    Nanoseconds request_time = std::chrono::seconds(10);  // from a request's first byte to its last
    Nanoseconds idle_time = std::chrono::seconds(120);    // between requests of one connection
    Nanoseconds response_time = std::chrono::seconds(30);
    std::size_t requests_per_connection = 1000;
};

class HttpServer {
public:
    using Handler = std::function<api::Response(const api::Request&)>;

    HttpServer(boost::asio::io_context& io, Handler handler, HttpLimits limits = {});
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // Binds and serves. Returns the port, chosen by the kernel where 0 was asked for.
    [[nodiscard]] Result<std::uint16_t> listen_tcp(const std::string& address, std::uint16_t port);
    // Serves a listening socket that is there already: a Unix socket (kControl, kRead), or one of TCP. Takes the
    // descriptor over.
    [[nodiscard]] Result<void> listen_on(int fd, api::Door door);

    // Accepts nothing more and ends every session but those that stream.
    void stop_accepting();
    [[nodiscard]] bool streams() const;  // an answer that comes over time is not out yet
    // Stops accepting and ends every session.
    void close();

    [[nodiscard]] std::uint64_t refused_connections() const;  // over a limit

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace perfvigil::daemon
