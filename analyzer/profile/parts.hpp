// SPDX-License-Identifier: GPL-2.0-or-later
// Which profiles an encoded one was merged from, written behind it: a zstd frame that decoders skip, so a profile with
// parts reads as one without. It is what makes a roll-up and the end of its parts one step: what names its parts holds
// them, whether their files still exist or not.
//
//   profile (codec.hpp) | 0x184D2A50 | bytes | names, a line end behind each
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

// Names hold no line ends.
void append_parts(std::vector<std::byte>& encoded, const std::vector<std::string>& names);

// Empty: the profile has none. Input is hostile.
[[nodiscard]] Result<std::vector<std::string>> parts_of(Bytes encoded);

}  // namespace perfvigil::analyzer
