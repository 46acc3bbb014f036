// SPDX-License-Identifier: GPL-2.0-or-later
// The command line of perfvigild. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace perfvigil::daemon {

struct Arguments {
    enum class Action : std::uint8_t { kRun, kCheckConfig, kPrintConfig, kVersion, kHelp };
    Action action = Action::kRun;
    std::optional<std::string> config;  // absent: the default file where it exists, else defaults
    std::optional<std::string> replay;  // a capture in place of the kernel
    double speed = 1;                   // of the replay, 0: as fast as possible
};

// `arguments` without the program's name.
[[nodiscard]] Result<Arguments> parse_arguments(std::span<const std::string_view> arguments);

[[nodiscard]] std::string_view usage_text();

}  // namespace perfvigil::daemon
