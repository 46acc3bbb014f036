// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/disassembly.hpp"

#include <capstone/capstone.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace perfvigil::cli {
namespace {

using analyzer::Instruction;

struct Target {
    cs_arch arch;
    int mode;
};

std::optional<Target> target_of(CodeKind kind) {
    const int order = kind.big_endian ? static_cast<int>(CS_MODE_BIG_ENDIAN) : static_cast<int>(CS_MODE_LITTLE_ENDIAN);
    switch (kind.machine) {
        case EM_X86_64: return Target{CS_ARCH_X86, kind.wide ? CS_MODE_64 : CS_MODE_32};
        case EM_386: return Target{CS_ARCH_X86, CS_MODE_32};
        case EM_AARCH64: return Target{CS_ARCH_ARM64, order};
        case EM_ARM: return Target{CS_ARCH_ARM, CS_MODE_ARM | order};
        case EM_PPC64: return Target{CS_ARCH_PPC, CS_MODE_64 | order};
        case EM_S390: return Target{CS_ARCH_SYSZ, static_cast<int>(CS_MODE_BIG_ENDIAN)};
        default: return std::nullopt;
    }
}

// Instructions are at least this far apart: where one cannot be read, the next may begin.
std::uint32_t step_of(CodeKind kind) {
    switch (kind.machine) {
        case EM_X86_64:
        case EM_386: return 1;
        case EM_S390: return 2;
        default: return 4;
    }
}

Instruction no_instruction(Bytes code, std::uint64_t address, std::uint32_t size) {
    Instruction made{.address = address, .size = size, .text = ".byte"};
    for (std::uint32_t i = 0; i < size; ++i) {
        made.text += fmt::format("{} {:#04x}", i == 0 ? "" : ",", std::to_integer<unsigned>(code[i]));
    }
    return made;
}

}  // namespace

Result<std::vector<Instruction>> disassemble(Bytes code, std::uint64_t address, CodeKind kind) {
    const auto target = target_of(kind);
    csh handle = 0;
    if (!target || cs_open(target->arch, static_cast<cs_mode>(target->mode), &handle) != CS_ERR_OK) {
        return fail(ErrorCode::kUnsupported, fmt::format("no disassembler for ELF machine {}", kind.machine));
    }
    const auto close = [](const csh* open) {
        csh closed = *open;
        cs_close(&closed);
    };
    const std::unique_ptr<const csh, decltype(close)> closer(&handle, close);
    const std::unique_ptr<cs_insn, void (*)(cs_insn*)> one(cs_malloc(handle), [](cs_insn* i) { cs_free(i, 1); });
    if (one == nullptr) return fail(ErrorCode::kExhausted, "out of memory for the disassembler");

    std::vector<Instruction> all;
    const auto* at = reinterpret_cast<const std::uint8_t*>(code.data());
    std::size_t left = code.size();
    while (left > 0) {
        std::uint64_t next = address;
        if (cs_disasm_iter(handle, &at, &left, &next, one.get())) {
            std::string text = one->mnemonic;
            if (one->op_str[0] != '\0') text += std::string(" ") + one->op_str;
            all.push_back({.address = address, .size = one->size, .text = std::move(text)});
            address = next;
            continue;
        }
        const auto size = static_cast<std::uint32_t>(std::min<std::size_t>(step_of(kind), left));
        all.push_back(no_instruction(code.subspan(code.size() - left, size), address, size));
        at += size;
        left -= size;
        address += size;
    }
    return all;
}

}  // namespace perfvigil::cli
