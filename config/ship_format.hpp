// SPDX-License-Identifier: GPL-2.0-or-later
// ship.to and ship.format as they are written.
#pragma once

#include <string>
#include <string_view>

#include "config/ship.hpp"
#include "config/values.hpp"

namespace perfvigil::config {

struct ShipTargetFormat {
    [[nodiscard]] Parsed<std::string> parse(std::string_view text) const;
    [[nodiscard]] std::string print(const std::string& to) const { return to; }
};

struct ShipFormatFormat {
    [[nodiscard]] Parsed<ShipFormat> parse(std::string_view text) const;
    [[nodiscard]] std::string print(ShipFormat format) const { return format == ShipFormat::kOtlp ? "otlp" : "pprof"; }
};

}  // namespace perfvigil::config
