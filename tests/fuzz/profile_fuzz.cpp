// SPDX-License-Identifier: GPL-2.0-or-later
// Stored profiles. The input is the protobuf inside the zstd frame: what is refused must be refused in order, what is
// accepted must come back equal.
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "analyzer/profile/codec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace perfvigil;
    std::vector<std::byte> frame(ZSTD_compressBound(size));
    frame.resize(ZSTD_compress(frame.data(), frame.size(), data, size, 1));
    const auto profile = analyzer::decode_profile(frame);
    (void)analyzer::decode_profile(std::as_bytes(std::span(data, size)));
    if (!profile) return 0;
    for (std::uint32_t event = 0; event < profile->events.size() && event < 4; ++event) {
        (void)analyzer::function_totals(*profile, event, analyzer::IdleRows::kInclude);
    }
    const auto again = analyzer::decode_profile(analyzer::encode_profile(*profile));
    if (!again || *again != *profile) std::abort();
    return 0;
}
