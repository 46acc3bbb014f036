// SPDX-License-Identifier: GPL-2.0-or-later
// Profile ⇄ bytes: protobuf by docs/profile.proto inside a zstd frame. decode(encode(p)) == p. Input is hostile.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/profile.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

inline constexpr std::uint32_t kProfileVersion = 1;

[[nodiscard]] std::vector<std::byte> encode_profile(const Profile& profile);
[[nodiscard]] Result<Profile> decode_profile(Bytes bytes);

}  // namespace perfvigil::analyzer
