// SPDX-License-Identifier: GPL-2.0-or-later
// Listeners and their sessions: reads a request, asks the handler, writes the response. Every wait has a limit, the
// number of connections is bounded; a slow or silent caller costs one slot until its time is up.
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
    // Serves a listening Unix socket. Takes the descriptor over.
    [[nodiscard]] Result<void> listen_control(int fd);

    // Stops accepting and ends every session.
    void close();

    [[nodiscard]] std::uint64_t refused_connections() const;  // over the limit

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace perfvigil::daemon
