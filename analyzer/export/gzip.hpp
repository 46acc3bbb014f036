// SPDX-License-Identifier: GPL-2.0-or-later
// Bytes as one gzip member, the same for the same bytes.
#pragma once

#include <string>
#include <string_view>

namespace perfvigil::analyzer {

[[nodiscard]] std::string gzip(std::string_view bytes);

}  // namespace perfvigil::analyzer
