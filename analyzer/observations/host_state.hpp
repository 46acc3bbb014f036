// SPDX-License-Identifier: GPL-2.0-or-later
// What the recording host said of itself, looked up by name. Never asks the host that analyzes.
#pragma once

#include <optional>
#include <string_view>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// Views into the profile; empty where the recording does not say.
[[nodiscard]] std::string_view vulnerability(const ProfileHost& host, std::string_view name);
[[nodiscard]] std::string_view kernel_option(const ProfileHost& host, std::string_view name);  // "CONFIG_KASAN" → "y"
[[nodiscard]] std::string_view setting(const ProfileHost& host, std::string_view name);

// The value of "name=value" on the kernel command line ("" for a bare name); the last one counts.
[[nodiscard]] std::optional<std::string_view> kernel_parameter(const ProfileHost& host, std::string_view name);

}  // namespace perfvigil::analyzer
