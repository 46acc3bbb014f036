// SPDX-License-Identifier: GPL-2.0-or-later
// /tmp/perf-PID.map: any text, within small limits, whole and as it grows.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analyzer/symbols/perf_map.hpp"

using perfvigil::RuntimeAddress;
using perfvigil::analyzer::PerfMap;
using perfvigil::analyzer::PerfMapLimits;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    PerfMapLimits limits;
    limits.functions = 64;
    limits.name_bytes = 4096;
    limits.name_length = 32;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto map = PerfMap::parse(text, limits);
    // Read while it was written it is the same.
    PerfMap grown(limits);
    std::size_t taken = 0;
    for (std::size_t held = 0; held < size; held += 1 + size / 16) {
        taken += grown.append(text.substr(taken, held - taken));
    }
    taken += grown.append(text.substr(taken));
    if (taken != text.rfind('\n') + 1 || grown.size() != map.size()) std::abort();
    if (grown.malformed_lines() != map.malformed_lines() || grown.cut() != map.cut()) std::abort();
    for (std::uint64_t address = 0; address < 0x10000; address += 97) {
        const auto found = map.find(RuntimeAddress{address});
        if (!found) continue;
        // Escaping makes at most four characters of one.
        if (found->name.size() > 4 * limits.name_length) std::abort();
        if (address < found->start.value || address - found->start.value >= found->size) std::abort();
    }
    return 0;
}
