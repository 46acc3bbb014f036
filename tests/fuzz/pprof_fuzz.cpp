// SPDX-License-Identifier: GPL-2.0-or-later
// pprof profiles, and the older CPU profiles of the same family: whatever the bytes are, a profile that adds up comes
// out, or a sentence.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "analyzer/input/cpu_profile.hpp"
#include "analyzer/input/pprof.hpp"
#include "analyzer/input/recognize.hpp"
#include "tests/support/profile_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace perfvigil;
    const Bytes bytes = std::as_bytes(std::span(data, size));
    (void)analyzer::recognize_binary(bytes);
    for (const auto& profile : {analyzer::read_pprof(bytes), analyzer::read_cpu_profile(bytes)}) {
        if (profile)
            test::check_profile(*profile);
        else if (profile.error().message.size() < 8)
            std::abort();
    }
    return 0;
}
