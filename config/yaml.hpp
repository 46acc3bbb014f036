// SPDX-License-Identifier: GPL-2.0-or-later
// YAML text as a flat list of settings with their lines: "rings: {total: 1MiB}" below "recording:" is
// recording.rings.total. Knows no key and no meaning. Input is hostile: depth, number and length are bounded, aliases
// (by which a short text grows without end) are refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/fault.hpp"

namespace perfvigil::config {

struct Setting {
    enum class Shape : std::uint8_t { kScalar, kList, kEmpty };  // kEmpty: "key:" with nothing behind it
    std::string key;
    int line = 0;
    Shape shape = Shape::kScalar;
    std::vector<std::string> values;  // one for a scalar
};

struct YamlDocument {
    std::vector<Setting> settings;  // in the order of the text, each key once
    std::vector<Fault> faults;
};

[[nodiscard]] YamlDocument parse_yaml(std::string_view text);

}  // namespace perfvigil::config
