// SPDX-License-Identifier: GPL-2.0-or-later
// Where stored windows are sent: ship.to and its kin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perfvigil::config {

enum class ShipFormat : std::uint8_t { kPprof, kOtlp };

struct ShipOptions {
    std::string to;  // an absolute folder, or http://ADDRESS[:PORT]/PATH; empty: nothing is shipped
    ShipFormat format = ShipFormat::kOtlp;
    std::uint32_t waiting = 120;  // windows; of more the oldest are given up
};

struct ShipUrl {
    std::string host;  // numeric, or "localhost"; no brackets
    std::uint16_t port = 80;
    std::string target = "/";  // path and query

    [[nodiscard]] std::string authority() const;  // "[::1]:4318"
    [[nodiscard]] std::string text() const;       // "http://[::1]:4318/v1"
};

// nullopt: no URL of that kind.
[[nodiscard]] std::optional<ShipUrl> parse_ship_url(std::string_view text);

}  // namespace perfvigil::config
