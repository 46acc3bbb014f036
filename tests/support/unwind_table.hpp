// SPDX-License-Identifier: GPL-2.0-or-later
// From frame sections to the table that FileUnwind reads, without an ELF file around them.
#pragma once

#include <vector>

#include "analyzer/symbols/child/unwind_program.hpp"
#include "base/bytes.hpp"

namespace perfvigil::test {

[[nodiscard]] inline std::vector<std::byte> unwind_table_bytes(const analyzer::UnwindRows& rows,
                                                               analyzer::UnwindMachine machine,
                                                               analyzer::CodeRange segment = {}) {
    using namespace analyzer;
    std::vector<std::byte> out;
    ByteWriter writer(out);
    writer.u32(kUnwindMagic);
    writer.u32(kUnwindVersion);
    writer.u32(static_cast<std::uint32_t>(machine));
    writer.u32(rows.flags);
    writer.u32(1);
    writer.u32(static_cast<std::uint32_t>(rows.starts.size()));
    writer.u32(static_cast<std::uint32_t>(rows.rule_bytes.size() / kUnwindRuleSize));
    writer.u32(static_cast<std::uint32_t>(rows.register_bytes.size() / kUnwindRegisterSize));
    writer.u64(rows.base);
    writer.u32(static_cast<std::uint32_t>(rows.expressions.size()));
    writer.zeros(kUnwindHeaderSize - writer.size());
    writer.u64(0);
    writer.u64(segment.start);
    writer.u64(segment.end - segment.start);
    for (const std::uint32_t start : rows.starts) writer.u32(start);
    for (const std::uint32_t rule : rows.rules) writer.u32(rule);
    writer.bytes(rows.rule_bytes);
    writer.bytes(rows.register_bytes);
    writer.bytes(rows.expressions);
    return out;
}

}  // namespace perfvigil::test
