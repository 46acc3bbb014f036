// SPDX-License-Identifier: GPL-2.0-or-later
// How evidence lies in a file (docs/bundle.md): behind the capture, which stays byte for byte what it was, so every
// program that reads such captures reads the bundle. Knows neither captures nor what the evidence says.
//
//   0              the capture
//   capture size   the evidence (evidence_codec.hpp)
//   file size − 48 "PVBUNDLE", u32 version, u32 zero, u64 capture size, u64 evidence size, u64 hash of the evidence,
//                  "ELDNUBVP"; native, which is little endian wherever perfvigil runs
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

inline constexpr std::uint32_t kBundleVersion = 1;
inline constexpr std::size_t kBundleTrailerSize = 48;

struct BundleParts {
    std::uint64_t capture_size = 0;
    std::uint64_t evidence_size = 0;
    std::uint64_t evidence_hash = 0;

    friend bool operator==(const BundleParts&, const BundleParts&) = default;
};

[[nodiscard]] std::vector<std::byte> encode_bundle_trailer(const BundleParts& parts);
// From the last bytes of a file (at least kBundleTrailerSize of them, else it is no bundle). nullopt: no bundle. The
// error says why one cannot be used.
[[nodiscard]] Result<std::optional<BundleParts>> decode_bundle_trailer(Bytes end, std::uint64_t file_size);

[[nodiscard]] std::uint64_t evidence_hash(Bytes evidence);

}  // namespace perfvigil::analyzer
