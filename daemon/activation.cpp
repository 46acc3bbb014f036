// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/activation.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.hpp"

namespace perfvigil::daemon {
namespace {

constexpr int kFirstFd = 3;  // SD_LISTEN_FDS_START
constexpr int kMostFds = 16;

}  // namespace

std::vector<PassedName> passed_names(pid_t self, const std::function<const char*(const char*)>& variable) {
    const auto text = [&](const char* name) {
        const char* value = variable(name);
        return std::string_view(value != nullptr ? value : "");
    };
    if (parse_number<pid_t>(text("LISTEN_PID")) != self) return {};
    const auto count = parse_number<int>(text("LISTEN_FDS")).value_or(0);
    std::vector<PassedName> passed;
    auto names = text("LISTEN_FDNAMES");
    for (int i = 0; i < std::min(count, kMostFds); ++i) {
        passed.push_back({kFirstFd + i, std::string(next_piece(names, ':'))});
    }
    return passed;
}

std::vector<PassedSocket> take_passed_sockets() {
    std::vector<PassedSocket> sockets;
    for (auto& [fd, name] : passed_names(::getpid(), [](const char* variable) { return std::getenv(variable); })) {
        // One that is not open is not ours to close either.
        if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) sockets.push_back({std::move(name), UniqueFd(fd)});
    }
    for (const auto* variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(variable);
    return sockets;
}

UniqueFd take(std::vector<PassedSocket>& sockets, std::string_view name) {
    const auto found = std::ranges::find(sockets, name, &PassedSocket::name);
    if (found == sockets.end()) return {};
    auto fd = std::move(found->fd);
    sockets.erase(found);
    return fd;
}

}  // namespace perfvigil::daemon
