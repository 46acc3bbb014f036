// SPDX-License-Identifier: GPL-2.0-or-later
// Skippable frames: RFC 8878, 3.1.2. Their numbers are little-endian, as are the machines that we run on.
#include "analyzer/profile/parts.hpp"

#include <zstd.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::uint32_t kSkippable = ZSTD_MAGIC_SKIPPABLE_START;

}  // namespace

void append_parts(std::vector<std::byte>& encoded, const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) text += name + '\n';
    ByteWriter out(encoded);
    out.u32(kSkippable);
    out.u32(static_cast<std::uint32_t>(text.size()));
    out.text(text);
}

Result<std::vector<std::string>> parts_of(Bytes encoded) {
    const std::size_t profile = ZSTD_findFrameCompressedSize(encoded.data(), encoded.size());
    if (ZSTD_isError(profile) != 0) return fail(ErrorCode::kTruncated, "the profile ends early");
    ByteReader reader(encoded.subspan(profile));
    std::vector<std::string> names;
    if (reader.remaining() == 0) return names;
    const auto magic = reader.u32();
    const Bytes text = reader.take(reader.u32());
    if (!reader.ok() || magic != kSkippable || reader.remaining() != 0) {
        return fail(ErrorCode::kTruncated, "what follows the profile is no list of its parts");
    }
    std::string_view rest(reinterpret_cast<const char*>(text.data()), text.size());
    while (!rest.empty()) names.emplace_back(next_piece(rest, '\n'));
    return names;
}

}  // namespace perfvigil::analyzer
