// SPDX-License-Identifier: GPL-2.0-or-later
// Every way into the daemon: the control socket, the read socket, TCP. Each is the service manager's (socket
// activation, by the names "control", "read" and "http") or our own. What changes something leaves a line in the log.
// Thread: io; open() before there are others.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "daemon/activation.hpp"
#include "daemon/api.hpp"
#include "daemon/degraded_set.hpp"
#include "daemon/http_server.hpp"
#include "daemon/unix_socket.hpp"

namespace perfvigil::daemon {

class Doors {
public:
    Doors(boost::asio::io_context& io, const config::Options& options, DegradedSet& degraded)
        : io_(io), options_(options), degraded_(degraded) {}

    // Binds the Unix sockets (which changes the umask for a moment). Only the control socket must work.
    [[nodiscard]] Result<void> open();
    // Answers from here on. A TCP port that is taken is tried again until it is free.
    void serve(api::Source& source);

    // The token is read again; on an error nothing changes.
    [[nodiscard]] Result<void> reload(const config::ListenOptions& listen);

    // Nothing new is let in; what streams goes on until close().
    void stop_accepting();
    [[nodiscard]] bool streams() const { return server_ && server_->streams(); }
    void close();

private:
    [[nodiscard]] api::Response answer(const api::Request& request, api::Source& source) const;
    void serve(std::string_view name, std::optional<ControlSocket>& bound, api::Door door);
    void serve_passed_tcp(UniqueFd fd);
    void listen_tcp();

    boost::asio::io_context& io_;
    const config::Options& options_;
    DegradedSet& degraded_;
    std::vector<PassedSocket> passed_;
    std::optional<ControlSocket> control_;
    std::optional<ControlSocket> read_;
    api::Rules rules_;
    std::optional<HttpServer> server_;
    boost::asio::steady_timer retry_{io_};
};

}  // namespace perfvigil::daemon
