// SPDX-License-Identifier: GPL-2.0-or-later
// Who may read over TCP without the token of the configuration: whoever was given a one-time key on a socket and opened
// the page with it once. A state machine without I/O; time and chance are injected. All is bounded and forgotten with
// the daemon.
//
//   socket ──▶ new_key() ─▶ URL ─▶ browser ──▶ redeem() ─▶ cookie ──▶ knows() … until it was idle for twelve hours
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace perfvigil::daemon {

// 256 bits of getrandom(2), in hexadecimal digits.
[[nodiscard]] std::string random_secret();

// Takes the same time for every wrong secret of one length.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

// Thread: io.
class WebSessions {
public:
    static constexpr Nanoseconds kKeyLife = std::chrono::minutes(5);
    static constexpr Nanoseconds kSessionIdle = std::chrono::hours(12);
    static constexpr std::size_t kMostKeys = 16;      // a new one takes the oldest one's place
    static constexpr std::size_t kMostSessions = 64;  // a new one ends the one that was idle for longest

    using Secret = std::function<std::string()>;
    explicit WebSessions(Secret secret = random_secret);

    [[nodiscard]] std::string new_key(MonotonicTime now);
    // The session's secret, once; nullopt: no such key, used before, or too old.
    [[nodiscard]] std::optional<std::string> redeem(std::string_view key, MonotonicTime now);
    // Whether a session has this secret; it then counts as used now.
    [[nodiscard]] bool knows(std::string_view secret, MonotonicTime now);

    // Browsers keep one set of cookies for all ports of a host, so each daemon's has a name of its own.
    [[nodiscard]] const std::string& cookie_name() const { return cookie_name_; }

private:
    struct Entry {
        std::string secret;
        MonotonicTime at{};  // keys: made; sessions: last used
    };
    using Entries = std::deque<Entry>;  // oldest first
    static void forget(Entries& entries, MonotonicTime older_than, std::size_t most);
    static Entries::iterator find(Entries& entries, std::string_view secret);

    Secret secret_;
    std::string cookie_name_;
    Entries keys_;
    Entries sessions_;
};

}  // namespace perfvigil::daemon
