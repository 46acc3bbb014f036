// SPDX-License-Identifier: GPL-2.0-or-later
// Every key of the configuration: its name, what it means, how its value is read into Options and printed back. The one
// source for parsing, --print-config, the shipped perfvigil.yaml and what a reload may change.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/fault.hpp"
#include "config/options.hpp"

namespace perfvigil::config {

struct Key {
    enum class Shape : std::uint8_t { kScalar, kList };
    enum class Reload : std::uint8_t { kLive, kRestart };

    std::string_view name;     // "recording.rings.total"
    std::string_view comment;  // meaning, unit, consequence
    Shape shape = Shape::kScalar;
    Reload reload = Reload::kRestart;
    // Puts the value (one text for a scalar) into the options, or says why not.
    std::function<std::optional<Complaint>(Options&, std::span<const std::string>)> parse;
    // The value as YAML, on one line.
    std::function<std::string(const Options&)> print;
    std::function<void(const Options& from, Options& to)> copy;
};

// In the order of the shipped file; keys of one section stand together.
[[nodiscard]] const std::vector<Key>& keys();
[[nodiscard]] const Key* find_key(std::string_view name);
// Whether `name` is what other keys lie below ("recording").
[[nodiscard]] bool is_section(std::string_view name);
// The known key or section that was probably meant; empty where none is near.
[[nodiscard]] std::string_view nearest_key(std::string_view name);

}  // namespace perfvigil::config
