// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/peer.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <climits>

namespace perfvigil::daemon {

std::optional<Peer> peer_of(int socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
    return Peer{credentials.uid, credentials.pid};
}

std::string program_of(pid_t pid) {
    std::array<char, PATH_MAX> target{};
    const std::string link = "/proc/" + std::to_string(pid) + "/exe";
    const auto length = ::readlink(link.c_str(), target.data(), target.size());
    return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
}

}  // namespace perfvigil::daemon
