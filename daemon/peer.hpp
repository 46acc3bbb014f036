// SPDX-License-Identifier: GPL-2.0-or-later
// Who is at the other end of a Unix socket, as the kernel knows it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace perfvigil::daemon {

// Of the process that connected (SO_PEERCRED, unix(7)); it may have ended since, or handed the socket on.
struct Peer {
    uid_t uid = 0;
    pid_t pid = 0;
};
[[nodiscard]] std::optional<Peer> peer_of(int socket);

// Its program, for the log: /proc/PID/exe; empty where it is gone or not ours to see.
[[nodiscard]] std::string program_of(pid_t pid);

}  // namespace perfvigil::daemon
