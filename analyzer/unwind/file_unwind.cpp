// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/unwind/file_unwind.hpp"

#include <algorithm>

namespace perfvigil::analyzer {
namespace {

// Part of the expressions; nullopt: outside them.
std::optional<Bytes> part_of(Bytes expressions, std::uint32_t start, std::uint32_t size) {
    if (start > expressions.size() || size > expressions.size() - start) return std::nullopt;
    return expressions.subspan(start, size);
}

}  // namespace

Result<FileUnwind> FileUnwind::from_mapping(MappedFile table) {
    auto unwind = from_bytes(table.bytes());
    if (unwind) unwind->mapping_ = std::move(table);
    return unwind;
}

Result<FileUnwind> FileUnwind::from_bytes(Bytes table) {
    FileUnwind unwind;
    unwind.table_ = table;
    ByteReader in(table);
    if (!unwind.read(in) || !unwind.rows_consistent()) {
        return fail(ErrorCode::kInvalid, "the unwind table breaks its format");
    }
    return unwind;
}

bool FileUnwind::read(ByteReader& in) {
    if (in.u32() != kUnwindMagic || in.u32() != kUnwindVersion) return false;
    const std::uint32_t machine = in.u32();
    flags_ = in.u32();
    const std::uint64_t segments = in.u32();
    const std::uint64_t rows = in.u32();
    const std::uint64_t rules = in.u32();
    const std::uint64_t registers = in.u32();
    base_ = in.u64();
    const std::uint32_t expressions_size = in.u32();
    in.skip(kUnwindHeaderSize - in.position());
    if (!in.ok() || machine > static_cast<std::uint32_t>(UnwindMachine::kArm64)) return false;
    machine_ = static_cast<UnwindMachine>(machine);

    ByteReader segment_reader(in.take(segments * kUnwindSegmentSize));
    for (std::uint64_t i = 0; i < segments && in.ok(); ++i) {
        Segment segment;
        segment.offset = segment_reader.u64();
        segment.address = segment_reader.u64();
        segment.size = segment_reader.u64();
        segments_.push_back(segment);
    }
    count_ = static_cast<std::size_t>(rows);
    starts_ = in.take(rows * sizeof(std::uint32_t));
    numbers_ = in.take(rows * sizeof(std::uint32_t));
    const Bytes rule_bytes = in.take(rules * kUnwindRuleSize);
    const Bytes register_bytes = in.take(registers * kUnwindRegisterSize);
    const Bytes expressions = in.take(expressions_size);
    return in.ok() && read_registers(register_bytes, expressions) && read_rules(rule_bytes, expressions);
}

bool FileUnwind::read_registers(Bytes registers, Bytes expressions) {
    const unsigned known = unwind_registers(machine_);
    ByteReader in(registers);
    registers_.reserve(registers.size() / kUnwindRegisterSize);
    while (in.remaining() > 0) {
        RegisterRule rule;
        rule.number = in.u8();
        const std::uint8_t kind = in.u8();
        const std::uint16_t size = in.u16();
        const std::uint32_t value = in.u32();
        if (rule.number >= known || kind > static_cast<std::uint8_t>(RegisterRuleKind::kValueExpression)) return false;
        rule.kind = static_cast<RegisterRuleKind>(kind);
        rule.value = static_cast<std::int32_t>(value);
        if (rule.kind == RegisterRuleKind::kRegister && value >= known) return false;
        if (rule.kind == RegisterRuleKind::kExpression || rule.kind == RegisterRuleKind::kValueExpression) {
            const auto expression = part_of(expressions, value, size);
            if (!expression) return false;
            rule.expression = *expression;
        }
        registers_.push_back(rule);
    }
    return true;
}

bool FileUnwind::read_rules(Bytes rules, Bytes expressions) {
    const unsigned known = unwind_registers(machine_);
    ByteReader in(rules);
    rules_.reserve(rules.size() / kUnwindRuleSize);
    while (in.remaining() > 0) {
        UnwindRule rule;
        rule.flags = in.u8();
        rule.cfa_register = in.u8();
        rule.return_column = in.u8();
        const std::uint8_t count = in.u8();
        const std::uint32_t offset = in.u32();
        const std::uint32_t size = in.u32();
        const std::uint32_t first = in.u32();
        if (rule.cfa_register >= known || rule.return_column >= known) return false;
        if (first > registers_.size() || count > registers_.size() - first) return false;
        rule.registers = std::span<const RegisterRule>(registers_).subspan(first, count);
        if (rule.has(kUnwindExpression)) {
            const auto expression = part_of(expressions, offset, size);
            if (!expression) return false;
            rule.cfa_expression = *expression;
        } else {
            rule.cfa_offset = static_cast<std::int32_t>(offset);
        }
        rules_.push_back(rule);
    }
    return true;
}

bool FileUnwind::rows_consistent() const {
    for (std::size_t i = 0; i < count_; ++i) {
        if (i > 0 && number(starts_, i) <= number(starts_, i - 1)) return false;
        const std::uint32_t rule = number(numbers_, i);
        if (rule != kNoUnwindRule && rule >= rules_.size()) return false;
    }
    return true;
}

const UnwindRule* FileUnwind::find(LinkAddress address) const {
    if (count_ == 0 || address.value < base_ + number(starts_, 0) || address.value - base_ > UINT32_MAX) return nullptr;
    const auto wanted = static_cast<std::uint32_t>(address.value - base_);
    std::size_t low = 0;  // the row that holds the address is in [low, high)
    std::size_t high = count_;
    while (high - low > 1) {
        const std::size_t middle = low + (high - low) / 2;
        if (number(starts_, middle) <= wanted)
            low = middle;
        else
            high = middle;
    }
    const std::uint32_t rule = number(numbers_, low);
    return rule == kNoUnwindRule ? nullptr : &rules_[rule];
}

std::optional<LinkAddress> FileUnwind::link_address(FileOffset offset) const {
    for (const Segment& segment : segments_) {
        const std::uint64_t inside = offset.value - segment.offset;
        if (offset.value >= segment.offset && inside < segment.size) return LinkAddress{segment.address + inside};
    }
    return std::nullopt;
}

}  // namespace perfvigil::analyzer
