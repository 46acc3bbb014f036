// SPDX-License-Identifier: GPL-2.0-or-later
// The fuzz targets of texts: whatever the bytes are, a profile that adds up comes out, or a sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "analyzer/input/byte_source.hpp"
#include "analyzer/input/recognize.hpp"
#include "analyzer/input/text_lines.hpp"
#include "tests/support/profile_check.hpp"

namespace perfvigil::test {

// `read`: TextLines& to Result<Profile>.
template <class Read>
int fuzz_text(const std::uint8_t* data, std::size_t size, Read&& read) {
    const Bytes bytes = std::as_bytes(std::span(data, size));
    (void)analyzer::recognize_text(bytes);
    analyzer::MemorySource source(bytes);
    analyzer::TextLines lines(source);
    const auto profile = read(lines);
    if (profile)
        check_profile(*profile);
    else if (profile.error().message.size() < 8)
        std::abort();
    return 0;
}

}  // namespace perfvigil::test
