// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/web_sessions.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon {
namespace {

constexpr std::size_t kNameDigits = 8;

}  // namespace

std::string random_secret() {
    std::array<std::byte, 32> bytes{};
    // Up to 256 bytes come whole once the kernel's pool is ready (getrandom(2)), which it is long before a daemon runs.
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    return to_hex(bytes);
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
    }
    return difference == 0;
}

WebSessions::WebSessions(Secret secret)
    : secret_(std::move(secret)),
      cookie_name_(std::string(protocol::kSessionCookie) + secret_().substr(0, kNameDigits)) {}

void WebSessions::forget(Entries& entries, MonotonicTime older_than, std::size_t most) {
    std::erase_if(entries, [&](const Entry& entry) { return entry.at < older_than; });
    while (entries.size() > most) entries.pop_front();
}

WebSessions::Entries::iterator WebSessions::find(Entries& entries, std::string_view secret) {
    return std::ranges::find_if(entries, [&](const Entry& e) { return equal_in_constant_time(e.secret, secret); });
}

std::string WebSessions::new_key(MonotonicTime now) {
    forget(keys_, now - kKeyLife, kMostKeys - 1);
    return keys_.emplace_back(Entry{secret_(), now}).secret;
}

std::optional<std::string> WebSessions::redeem(std::string_view key, MonotonicTime now) {
    forget(keys_, now - kKeyLife, kMostKeys);
    const auto found = find(keys_, key);
    if (found == keys_.end()) return std::nullopt;
    keys_.erase(found);
    forget(sessions_, now - kSessionIdle, kMostSessions - 1);
    return sessions_.emplace_back(Entry{secret_(), now}).secret;
}

bool WebSessions::knows(std::string_view secret, MonotonicTime now) {
    forget(sessions_, now - kSessionIdle, kMostSessions);
    const auto found = find(sessions_, secret);
    if (found == sessions_.end()) return false;
    found->at = now;
    std::rotate(found, found + 1, sessions_.end());
    return true;
}

}  // namespace perfvigil::daemon
