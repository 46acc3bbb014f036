// SPDX-License-Identifier: GPL-2.0-or-later
// How the running kernel was built, as far as it bears on what its profile means: options that instrument it for
// debugging or harden it, and how it unwinds. Knows files and their form, not what an option costs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::collector {

using KernelConfig = std::vector<std::pair<std::string, std::string>>;  // "CONFIG_KASAN": "y", "m", "n" or a value

// From /proc/config.gz, else /boot/config-RELEASE, else /lib/modules/RELEASE/config. Every option of the list is there
// ("n": not set), so an empty result means that none of the files could be read. `root` stands before the paths.
[[nodiscard]] KernelConfig read_kernel_config(const std::string& root, const std::string& release);

// The listed options of a configuration's text; the options of text that is none are not there.
[[nodiscard]] KernelConfig parse_kernel_config(std::string_view text);

// One gzip file in memory, at most `limit` bytes of content.
[[nodiscard]] Result<std::string> gunzip(Bytes file, std::size_t limit);

}  // namespace perfvigil::collector
