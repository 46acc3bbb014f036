// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/ship.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::config {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::size_t kLongest = 2000;

bool is_numeric(const std::string& host) {
    in_addr v4{};
    in6_addr v6{};
    return ::inet_pton(AF_INET, host.c_str(), &v4) == 1 || ::inet_pton(AF_INET6, host.c_str(), &v6) == 1;
}

}  // namespace

std::string ShipUrl::authority() const {
    const bool v6 = host.contains(':');
    return fmt::format("{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

std::string ShipUrl::text() const { return std::string(kScheme) + authority() + target; }

std::optional<ShipUrl> parse_ship_url(std::string_view text) {
    const auto fits = [](unsigned char c) { return c > ' ' && c < 0x7f; };
    if (!text.starts_with(kScheme) || text.size() > kLongest || !std::ranges::all_of(text, fits)) return std::nullopt;
    text.remove_prefix(kScheme.size());
    ShipUrl url;
    const auto slash = std::min(text.find('/'), text.size());
    auto authority = text.substr(0, slash);
    if (slash < text.size()) url.target = text.substr(slash);
    if (url.target.contains('#')) return std::nullopt;
    if (authority.starts_with('[')) {
        const auto end = authority.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        url.host = authority.substr(1, end - 1);
        authority.remove_prefix(end + 1);
    } else {
        const auto colon = std::min(authority.find(':'), authority.size());
        url.host = authority.substr(0, colon);
        authority.remove_prefix(colon);
    }
    if (!authority.empty()) {
        const auto port = authority.front() == ':' ? parse_number<std::uint16_t>(authority.substr(1)) : std::nullopt;
        if (!port || *port == 0) return std::nullopt;
        url.port = *port;
    }
    if (url.host != "localhost" && !is_numeric(url.host)) return std::nullopt;
    return url;
}

}  // namespace perfvigil::config
