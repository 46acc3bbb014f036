// SPDX-License-Identifier: GPL-2.0-or-later
// Tells the service manager how it goes: one datagram to the socket that NOTIFY_SOCKET names, sd_notify(3). Without
// that variable everything here does nothing. Thread: io.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/time.hpp"

namespace perfvigil::daemon {

class Notifier {
public:
    // From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; takes the first out of the environment, so that children do
    // not speak for the daemon.
    [[nodiscard]] static Notifier from_environment();
    // "/path" or "@abstract"; empty: nobody listens.
    explicit Notifier(std::string_view address, std::optional<Nanoseconds> watchdog = std::nullopt);

    void ready(std::string_view status) const;
    void reloading(MonotonicTime now) const;
    void stopping() const;
    void status(std::string_view status) const;
    void alive() const;  // WATCHDOG=1

    // How often alive() must be called at least; nullopt: nobody watches.
    [[nodiscard]] std::optional<Nanoseconds> watchdog() const { return watchdog_; }

private:
    void send(const std::string& message) const;

    UniqueFd socket_;
    std::optional<Nanoseconds> watchdog_;
};

}  // namespace perfvigil::daemon
