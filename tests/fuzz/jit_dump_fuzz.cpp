// SPDX-License-Identifier: GPL-2.0-or-later
// jitdump: any bytes, within small limits, whole and in pieces: both come to the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "analyzer/symbols/jit_dump.hpp"

using perfvigil::Bytes;
using perfvigil::FileOffset;
using perfvigil::MonotonicTime;
using perfvigil::RuntimeAddress;
using perfvigil::analyzer::JitDump;
using perfvigil::analyzer::JitDumpLimits;

namespace {

void feed(JitDump& dump, Bytes file) {
    while (dump.next_offset() < file.size()) {
        const auto before = dump.next_offset();
        const auto more = dump.append(file.subspan(dump.next_offset()));
        if (!more || !*more) return;
        if (dump.next_offset() <= before) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    JitDumpLimits limits;
    limits.functions = 64;
    limits.name_bytes = 4096;
    limits.name_length = 32;
    limits.code_size = 1U << 16;
    limits.per_page = 8;
    const Bytes file(reinterpret_cast<const std::byte*>(data), size);
    JitDump whole(limits);
    feed(whole, file);
    JitDump grown(limits);
    for (std::size_t held = 0; held < size; held += 1 + size / 16) feed(grown, file.first(held));
    feed(grown, file);
    if (whole.size() > limits.functions || whole.placements().size() > 2 * limits.functions) std::abort();
    if (grown.size() != whole.size() || grown.malformed_records() != whole.malformed_records()) std::abort();
    for (const auto& placement : whole.placements()) {
        const auto name = whole.find(whole.code_of(placement));
        // Escaping makes at most four characters of one.
        if (!name || name->name.size() > 4 * limits.name_length) std::abort();
        const auto found = whole.find(RuntimeAddress{placement.start}, placement.time, placement.time);
        if (found && placement.start - found->start.value >= found->size) std::abort();
        (void)whole.find(RuntimeAddress{placement.start}, MonotonicTime{}, MonotonicTime::max());
    }
    return 0;
}
