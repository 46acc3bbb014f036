// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/plt_stubs.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <optional>

namespace perfvigil::analyzer {
namespace {

constexpr std::uint64_t kLongestStub = 16;  // .plt, .plt.sec; those of .plt.got may be 8
constexpr std::uint64_t kLongestArmStub = 24;

struct Jump {
    std::size_t size = 0;  // of the instructions up to and with the one that names the slot
    std::uint64_t slot = 0;
};

bool begins_with(Bytes code, std::initializer_list<unsigned> bytes) {
    if (code.size() < bytes.size()) return false;
    return std::ranges::equal(code.first(bytes.size()), bytes,
                              [](std::byte have, unsigned want) { return std::to_integer<unsigned>(have) == want; });
}

std::uint32_t little32(Bytes code, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(code[at + i]) << (8 * i);
    return value;
}

std::optional<Jump> x86_jump(Bytes code, std::uint64_t address, const PltSection& section) {
    std::size_t at = 0;
    const bool wide = section.machine == EM_X86_64;
    if (begins_with(code, {0xf3, 0x0f, 0x1e, 0xfa}) || begins_with(code, {0xf3, 0x0f, 0x1e, 0xfb})) at = 4;
    if (begins_with(code.subspan(at), {0xf2})) ++at;  // bnd
    const Bytes jump = code.subspan(at);
    if (jump.size() < 6) return std::nullopt;
    const std::uint32_t operand = little32(jump, 2);
    const auto relative = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(operand)));
    if (begins_with(jump, {0xff, 0x25})) {
        return Jump{.size = at + 6, .slot = wide ? address + at + 6 + relative : operand};
    }
    if (!wide && begins_with(jump, {0xff, 0xa3})) {
        return Jump{.size = at + 6, .slot = static_cast<std::uint32_t>(section.got + relative)};
    }
    return std::nullopt;
}

std::optional<Jump> arm64_jump(Bytes code, std::uint64_t address) {
    constexpr std::uint32_t kBti = 0xd503245f;
    std::size_t at = 0;
    if (code.size() >= 4 && little32(code, 0) == kBti) at = 4;
    if (code.size() < at + 8) return std::nullopt;
    const auto page = little32(code, at);
    const auto load = little32(code, at + 4);
    if ((page & 0x9f00001fU) != 0x90000010U) return std::nullopt;  // adrp x16, …
    if ((load & 0xffc003ffU) != 0xf9400211U) return std::nullopt;  // ldr x17, [x16, #…]
    std::uint64_t pages = ((page >> 29U) & 3U) | (((page >> 5U) & 0x7ffffU) << 2U);
    if ((pages & (1U << 20U)) != 0) pages |= ~std::uint64_t{0x1fffff};
    const auto base = ((address + at) & ~std::uint64_t{0xfff}) + (pages << 12U);
    return Jump{.size = at + 8, .slot = base + std::uint64_t{(load >> 10U) & 0xfffU} * 8};
}

}  // namespace

std::vector<PltStub> find_plt_stubs(const PltSection& section) {
    const bool arm = section.machine == EM_AARCH64;
    if (!arm && section.machine != EM_X86_64 && section.machine != EM_386) return {};
    const std::size_t step = arm ? 4 : 8;
    const std::uint64_t longest = arm ? kLongestArmStub : kLongestStub;
    std::vector<PltStub> stubs;
    for (std::size_t at = 0; at < section.code.size();) {
        const Bytes code = section.code.subspan(at);
        const auto address = section.address + at;
        const auto jump = arm ? arm64_jump(code, address) : x86_jump(code, address, section);
        if (!jump) {
            at += step;
            continue;
        }
        stubs.push_back(
            {.address = address, .size = std::min<std::uint64_t>(longest, code.size()), .slot = jump->slot});
        at += (jump->size + step - 1) / step * step;
    }
    for (std::size_t i = 0; i + 1 < stubs.size(); ++i) {
        stubs[i].size = std::min(stubs[i].size, stubs[i + 1].address - stubs[i].address);
    }
    return stubs;
}

SlotKind slot_kind(std::uint16_t machine, std::uint32_t type) {
    struct Kinds {
        std::uint16_t machine;
        std::uint32_t jump, data, relative;
    };
    static constexpr std::array<Kinds, 3> kKnown{
        {{EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE},
         {EM_386, R_386_JMP_SLOT, R_386_GLOB_DAT, R_386_IRELATIVE},
         {EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE}}};
    const auto* found = std::ranges::find(kKnown, machine, &Kinds::machine);
    if (found == kKnown.end()) return SlotKind::kOther;
    if (type == found->relative) return SlotKind::kResolved;
    return type == found->jump || type == found->data ? SlotKind::kFunction : SlotKind::kOther;
}

}  // namespace perfvigil::analyzer
