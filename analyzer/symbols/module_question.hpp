// SPDX-License-Identifier: GPL-2.0-or-later
// What perfvigil-symbols is told beside a kernel module's file: where the loader put the sections of its code. Stands
// at the head of the memfd for the answer, as all questions do (child_protocol.hpp).
//
//   u32 sections, u32 size of what follows; per section: u64 runtime address, u16 name size, name
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace perfvigil::analyzer {

struct PlacedSection {
    std::string name;
    std::uint64_t address = 0;
};

inline constexpr std::size_t kModuleQuestionHead = 8;
inline constexpr std::size_t kMaxModuleSections = 16384;
inline constexpr std::size_t kMaxModuleQuestion = 8U << 20;

[[nodiscard]] inline std::vector<std::byte> encode_sections(const std::vector<PlacedSection>& sections) {
    std::vector<std::byte> body;
    ByteWriter to(body);
    for (const auto& section : sections) {
        to.u64(section.address);
        to.u16(static_cast<std::uint16_t>(section.name.size()));
        to.bytes(std::as_bytes(std::span(section.name)));
    }
    std::vector<std::byte> question;
    ByteWriter head(question);
    head.u32(static_cast<std::uint32_t>(sections.size()));
    head.u32(static_cast<std::uint32_t>(body.size()));
    head.bytes(body);
    return question;
}

// `question` whole, its head included.
[[nodiscard]] inline std::optional<std::vector<PlacedSection>> decode_sections(Bytes question) {
    ByteReader reader(question);
    const auto count = reader.u32();
    const auto size = reader.u32();
    if (!reader.ok() || count > kMaxModuleSections || size != reader.remaining()) return std::nullopt;
    std::vector<PlacedSection> sections;
    for (std::uint32_t i = 0; i < count && reader.ok(); ++i) {
        PlacedSection section;
        section.address = reader.u64();
        const auto name = reader.take(reader.u16());
        section.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
        sections.push_back(std::move(section));
    }
    if (!reader.ok()) return std::nullopt;
    return sections;
}

}  // namespace perfvigil::analyzer
