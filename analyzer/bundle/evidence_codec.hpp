// SPDX-License-Identifier: GPL-2.0-or-later
// Evidence ⇄ bytes: protobuf by docs/bundle.proto inside a zstd frame. decode(encode(e)) == e. Input is hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/bundle/evidence.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

inline constexpr std::uint32_t kEvidenceVersion = 1;

[[nodiscard]] std::vector<std::byte> encode_evidence(const Evidence& evidence);
// Every number in what comes back that names a string, symbol, chain or Dso names one that is there.
[[nodiscard]] Result<Evidence> decode_evidence(Bytes bytes);

}  // namespace perfvigil::analyzer
