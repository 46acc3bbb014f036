// SPDX-License-Identifier: GPL-2.0-or-later
// What a command made, to where it was asked for.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace perfvigil::cli {

// `path` empty or "-": standard output. The error names the file.
[[nodiscard]] Result<void> write_output(const std::string& path, std::string_view bytes);

}  // namespace perfvigil::cli
