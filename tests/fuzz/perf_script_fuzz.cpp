// SPDX-License-Identifier: GPL-2.0-or-later
// Texts of perf script: whatever the bytes are, a profile that adds up comes out, or a sentence.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "analyzer/input/byte_source.hpp"
#include "analyzer/input/perf_script.hpp"
#include "analyzer/input/recognize.hpp"
#include "analyzer/input/text_lines.hpp"
#include "tests/support/profile_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace perfvigil;
    const Bytes bytes = std::as_bytes(std::span(data, size));
    (void)analyzer::recognize_text(bytes);
    analyzer::MemorySource source(bytes);
    analyzer::TextLines lines(source);
    const auto profile = analyzer::read_perf_script(lines);
    if (profile)
        test::check_profile(*profile);
    else if (profile.error().message.size() < 8)
        std::abort();
    return 0;
}
