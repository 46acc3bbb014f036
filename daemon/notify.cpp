// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/text.hpp"

namespace perfvigil::daemon {
namespace {

// Connected once: later the name may be out of reach (another root, fewer rights), and then sends go on.
UniqueFd connect_to(std::string_view address) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const bool usable = address.size() > 1 && (address.front() == '/' || address.front() == '@');
    if (!usable || address.size() >= sizeof name.sun_path) return {};
    std::memcpy(name.sun_path, address.data(), address.size());
    const bool abstract = address.front() == '@';
    if (abstract) name.sun_path[0] = '\0';
    const auto length = offsetof(sockaddr_un, sun_path) + address.size() + (abstract ? 0 : 1);
    UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return {};
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), static_cast<socklen_t>(length)) != 0) {
        return {};
    }
    return socket;
}

std::string_view environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view{} : std::string_view(value);
}

// A status is one line of the message.
std::string one_line(std::string_view text) { return escape(text); }

}  // namespace

Notifier Notifier::from_environment() {
    std::optional<Nanoseconds> watchdog;
    const auto for_pid = environment("WATCHDOG_PID");
    const auto microseconds = parse_number<std::int64_t>(environment("WATCHDOG_USEC"));
    if (microseconds && *microseconds > 0 && (for_pid.empty() || for_pid == std::to_string(::getpid()))) {
        watchdog = std::chrono::microseconds(*microseconds);
    }
    Notifier notifier(environment("NOTIFY_SOCKET"), watchdog);
    ::unsetenv("NOTIFY_SOCKET");
    return notifier;
}

Notifier::Notifier(std::string_view address, std::optional<Nanoseconds> watchdog)
    : socket_(connect_to(address)), watchdog_(watchdog) {}

void Notifier::ready(std::string_view status) const { send("READY=1\nSTATUS=" + one_line(status)); }

void Notifier::reloading(MonotonicTime now) const {
    send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(to_ns(now) / 1000));
}

void Notifier::stopping() const { send("STOPPING=1\nSTATUS=storing the last window"); }

void Notifier::status(std::string_view status) const { send("STATUS=" + one_line(status)); }

void Notifier::alive() const { send("WATCHDOG=1"); }

void Notifier::send(const std::string& message) const {
    if (!socket_) return;
    // A full queue of the manager is its own trouble; nothing here may wait for it.
    (void)::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL);
}

}  // namespace perfvigil::daemon
