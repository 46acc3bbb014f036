// SPDX-License-Identifier: GPL-2.0-or-later
// Listening sockets that the service manager opened for us: sd_listen_fds(3), without its library.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"

namespace perfvigil::daemon {

struct PassedSocket {
    std::string name;  // FileDescriptorName=: "control", "read", "http"
    UniqueFd fd;
};

// What the variables LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES say to process `self`: the descriptors from 3 on, by
// name. Empty where they are another process's, or make no sense. `variable`: the value, nullptr where it is not set.
struct PassedName {
    int fd = -1;
    std::string name;
};
[[nodiscard]] std::vector<PassedName> passed_names(pid_t self, const std::function<const char*(const char*)>& variable);

// Those of this process, close-on-exec; the variables are removed, so that no child takes them for its own. Before
// there are threads.
[[nodiscard]] std::vector<PassedSocket> take_passed_sockets();

// The one of that name, taken out of the list; empty: none was passed.
[[nodiscard]] UniqueFd take(std::vector<PassedSocket>& sockets, std::string_view name);

}  // namespace perfvigil::daemon
