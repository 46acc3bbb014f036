// SPDX-License-Identifier: GPL-2.0-or-later
// What compressed bytes of ours say, for tests that look for words in them.
#pragma once

#include <string>
#include <string_view>

namespace perfvigil::test {

// A gzip member (pprof), or a zstd frame behind a few bytes of ours (stored profiles), unpacked; other bytes as they
// are. Throws std::runtime_error on damage.
[[nodiscard]] std::string plain_text(std::string_view bytes);

}  // namespace perfvigil::test
