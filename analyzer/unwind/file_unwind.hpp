// SPDX-License-Identifier: GPL-2.0-or-later
// How to get from each instruction of one file to its caller, as perfvigil-symbols worked it out (unwind_format.hpp).
// The table comes from a process that read hostile input: it is checked whole at the start and believed only then.
// Knows no files, no processes and no stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/symbols/unwind_format.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/ids.hpp"

namespace perfvigil::analyzer {

struct RegisterRule {
    std::uint8_t number = 0;
    RegisterRuleKind kind = RegisterRuleKind::kUndefined;
    std::int32_t value = 0;  // offset, or the other register
    Bytes expression{};
};

// How the caller's registers follow from those of one frame.
struct UnwindRule {
    std::uint8_t flags = 0;  // UnwindRuleFlag
    std::uint8_t cfa_register = 0;
    std::uint8_t return_column = 0;
    std::int32_t cfa_offset = 0;
    Bytes cfa_expression{};
    std::span<const RegisterRule> registers{};

    [[nodiscard]] bool has(UnwindRuleFlag flag) const { return (flags & flag) != 0; }
};

class FileUnwind {
public:
    // `table` must not change any more: a sealed memfd, or memory of ours.
    [[nodiscard]] static Result<FileUnwind> from_mapping(MappedFile table);
    // Checks bytes that outlive the result.
    [[nodiscard]] static Result<FileUnwind> from_bytes(Bytes table);

    // nullptr: nothing is known of this address. Lives as long as the table.
    [[nodiscard]] const UnwindRule* find(LinkAddress address) const;
    [[nodiscard]] std::optional<LinkAddress> link_address(FileOffset offset) const;

    [[nodiscard]] UnwindMachine machine() const { return machine_; }
    [[nodiscard]] std::uint32_t flags() const { return flags_; }
    [[nodiscard]] std::size_t row_count() const { return count_; }
    [[nodiscard]] std::size_t rule_count() const { return rules_.size(); }
    [[nodiscard]] std::size_t bytes() const {
        return table_.size() + rules_.size() * sizeof(UnwindRule) + registers_.size() * sizeof(RegisterRule);
    }

private:
    struct Segment {
        std::uint64_t offset = 0;
        std::uint64_t address = 0;
        std::uint64_t size = 0;
    };
    FileUnwind() = default;
    bool read(ByteReader& in);
    bool read_registers(Bytes registers, Bytes expressions);
    bool read_rules(Bytes rules, Bytes expressions);
    [[nodiscard]] bool rows_consistent() const;
    [[nodiscard]] static std::uint32_t number(Bytes array, std::size_t i) {
        std::uint32_t value = 0;
        std::memcpy(&value, array.data() + i * sizeof value, sizeof value);
        return value;
    }

    MappedFile mapping_;
    Bytes table_;
    UnwindMachine machine_ = UnwindMachine::kOther;
    std::uint32_t flags_ = 0;
    std::uint64_t base_ = 0;
    std::size_t count_ = 0;
    Bytes starts_;
    Bytes numbers_;
    std::vector<Segment> segments_;
    std::vector<RegisterRule> registers_;
    std::vector<UnwindRule> rules_;
};

}  // namespace perfvigil::analyzer
