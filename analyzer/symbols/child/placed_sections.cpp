// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/placed_sections.hpp"

#include <unistd.h>

#include <array>
#include <cstddef>
#include <utility>

#include "base/bytes.hpp"

namespace perfvigil::analyzer {

Result<PlacedSections> read_placed_sections(int question) {
    const auto malformed = [] { return fail(ErrorCode::kInvalid, "malformed question"); };
    std::array<std::byte, kModuleQuestionHead> head{};
    if (::pread(question, head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) return malformed();
    ByteReader reader{Bytes(head)};
    (void)reader.u32();
    const std::uint64_t size = kModuleQuestionHead + std::uint64_t{reader.u32()};
    if (size > kMaxModuleQuestion) return malformed();
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    if (::pread(question, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(size)) return malformed();
    auto sections = decode_sections(bytes);
    if (!sections) return malformed();
    return PlacedSections{.sections = std::move(*sections), .size = size};
}

}  // namespace perfvigil::analyzer
