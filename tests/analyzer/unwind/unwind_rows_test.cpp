// SPDX-License-Identifier: GPL-2.0-or-later
// From frame entries to rules by address, through the format and its check.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "analyzer/symbols/child/unwind_program.hpp"
#include "analyzer/unwind/file_unwind.hpp"
#include "tests/support/frame_section.hpp"
#include "tests/support/unwind_table.hpp"

namespace perfvigil::analyzer {
namespace {

using test::CfaProgram;
using test::FrameSectionMaker;

constexpr CodeRange kCode{.start = 0x400000, .end = 0x500000};

class Table {
public:
    explicit Table(const FrameSectionMaker& maker, UnwindMachine machine = UnwindMachine::kX86_64,
                   std::size_t max_rows = 1000) {
        FrameEntries entries;
        read_frame_entries(maker.section(), entries);
        init(entries, machine, max_rows);
    }
    Table(const FrameEntries& entries, UnwindMachine machine) { init(entries, machine, 1000); }

    [[nodiscard]] const UnwindRule* at(std::uint64_t address) const { return unwind_->find(LinkAddress{address}); }
    [[nodiscard]] const FileUnwind& operator*() const { return *unwind_; }
    // Offset of the saved register from the CFA; 0: none.
    [[nodiscard]] static std::int32_t saved(const UnwindRule& rule, unsigned number) {
        for (const auto& reg : rule.registers) {
            if (reg.number == number && reg.kind == RegisterRuleKind::kOffset) return reg.value;
        }
        return 0;
    }

private:
    void init(const FrameEntries& entries, UnwindMachine machine, std::size_t max_rows) {
        const auto rows = unwind_rows(entries, machine, {kCode}, max_rows);
        bytes_ = test::unwind_table_bytes(rows, machine, kCode);
        auto unwind = FileUnwind::from_bytes(bytes_);
        if (!unwind) throw std::runtime_error(unwind.error().message);
        unwind_ = std::make_unique<FileUnwind>(std::move(*unwind));
    }
    std::vector<std::byte> bytes_;
    std::unique_ptr<FileUnwind> unwind_;
};

// push rbp; mov rbp,rsp; push rbx; …; leave; ret — as gcc describes it.
TEST(UnwindRows, AFunctionFromPrologueToEpilogue) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    const auto terms = maker.terms({});
    maker.entry(terms, 0x401000, 0x40,
                CfaProgram()
                    .advance(1)
                    .cfa_offset(16)
                    .saved(6, 2)
                    .advance(3)
                    .add({0x0d, 6})  // CFA by rbp
                    .advance(1)
                    .saved(3, 3)
                    .advance(0x30)
                    .add({0x0a})  // remember
                    .cfa(7, 8)
                    .advance(1)
                    .add({0x0b}));  // restore
    const Table table(maker);
    EXPECT_EQ((*table).flags(), 0U);
    EXPECT_EQ(table.at(0x400fff), nullptr);
    ASSERT_NE(table.at(0x401000), nullptr);
    EXPECT_EQ(table.at(0x401000)->cfa_register, 7);
    EXPECT_EQ(table.at(0x401000)->cfa_offset, 8);
    EXPECT_EQ(Table::saved(*table.at(0x401000), 16), -8);
    EXPECT_EQ(Table::saved(*table.at(0x401000), 6), 0);
    EXPECT_EQ(table.at(0x401001)->cfa_offset, 16);
    EXPECT_EQ(Table::saved(*table.at(0x401003), 6), -16);
    EXPECT_EQ(table.at(0x401004)->cfa_register, 6);
    EXPECT_EQ(Table::saved(*table.at(0x401005), 3), -24);
    EXPECT_EQ(table.at(0x401034)->cfa_register, 6);
    EXPECT_EQ(table.at(0x401035)->cfa_register, 7);
    EXPECT_EQ(table.at(0x401036)->cfa_register, 6) << "as before the early return";
    EXPECT_NE(table.at(0x40103f), nullptr);
    EXPECT_EQ(table.at(0x401040), nullptr);
    EXPECT_EQ((*table).row_count(), 7U);
    EXPECT_EQ((*table).rule_count(), 5U) << "one of the seven rows says that there is no more, one repeats a rule";
}

TEST(UnwindRows, EntriesInAnyOrderWithGapsOverlapsAndTwice) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    const auto terms = maker.terms({});
    maker.entry(terms, 0x403000, 0x10, CfaProgram().cfa_offset(32));
    maker.entry(terms, 0x401000, 0x10, CfaProgram().cfa_offset(16));
    maker.entry(terms, 0x401008, 0x10, CfaProgram().cfa_offset(24).advance(12).cfa_offset(40));
    maker.entry(terms, 0x401000, 0x10, CfaProgram().cfa_offset(99));  // the first one was there
    maker.entry(terms, 0x600000, 0x10, {});                           // no code there
    maker.entry(terms, 0x4ffff8, 0x10, {});                           // … nor up to its end
    const Table table(maker);
    EXPECT_EQ(table.at(0x40100f)->cfa_offset, 16);
    EXPECT_EQ(table.at(0x401010)->cfa_offset, 24);
    EXPECT_EQ(table.at(0x401013)->cfa_offset, 24);
    EXPECT_EQ(table.at(0x401014)->cfa_offset, 40);
    EXPECT_EQ(table.at(0x401018), nullptr);
    EXPECT_EQ(table.at(0x402fff), nullptr);
    EXPECT_EQ(table.at(0x403000)->cfa_offset, 32);
    EXPECT_EQ(table.at(0x600000), nullptr);
    EXPECT_EQ(table.at(0x4ffffa), nullptr);
}

TEST(UnwindRows, EveryInstruction) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    const auto terms = maker.terms({});
    maker.entry(terms, 0x401000, 0x10,
                CfaProgram({0x05,      3,   4,              // rbx at −32
                            0x11,      12,  0x7d,           // r12 at +24
                            0x2f,      13,  2,              // r13 at +16
                            0x14,      14,  5,              // r14 is CFA − 40
                            0x15,      15,  0x7f,           // r15 is CFA + 8
                            0x09,      0,   1,              // rax in rdx
                            0x07,      2,                   // rcx is lost
                            0x10,      4,   2,    0x77, 8,  // rsi by an expression
                            0x16,      5,   1,    0x30,     // rdi likewise, its value
                            0x8c,      9,   0xcc,  // r12 somewhere else, and back to what the terms said: nothing
                            0x80 | 33, 1,          // a vector register
                            0x2e,      16,  0x00,  // size of arguments, nothing
                            0x12,      6,   0x7e,  // CFA = rbp + 16
                            0x13,      0x7d}));    // … + 24
    const Table table(maker);
    EXPECT_EQ((*table).flags(), 0U);
    const UnwindRule* rule = table.at(0x401008);
    ASSERT_NE(rule, nullptr);
    EXPECT_EQ(rule->cfa_register, 6);
    EXPECT_EQ(rule->cfa_offset, 24);
    std::vector<std::string> said;
    for (const auto& reg : rule->registers) {
        said.push_back(std::to_string(reg.number) + ":" + std::to_string(static_cast<int>(reg.kind)) + ":" +
                       std::to_string(reg.expression.empty() ? reg.value : static_cast<int>(reg.expression.size())));
    }
    EXPECT_EQ(said, (std::vector<std::string>{"0:3:1", "2:0:0", "3:1:-32", "4:4:2", "5:5:1", "13:1:16", "14:2:-40",
                                              "15:2:8", "16:1:-8"}));
}

TEST(UnwindRows, ExpressionsSignalFramesAndTheOutermost) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    const auto terms = maker.terms({});
    const auto signal = maker.terms({.augmentation = "zRS"});
    maker.entry(terms, 0x401000, 0x10, CfaProgram({0x0f, 3, 0x77, 8, 0x06}));
    maker.entry(signal, 0x401010, 0x10, {});
    maker.entry(terms, 0x401020, 0x10, CfaProgram({0x07, 16}));
    const Table table(maker);
    ASSERT_NE(table.at(0x401000), nullptr);
    EXPECT_TRUE(table.at(0x401000)->has(kUnwindExpression));
    EXPECT_EQ(table.at(0x401000)->cfa_expression.size(), 3U);
    EXPECT_TRUE(table.at(0x401010)->has(kUnwindSignal));
    EXPECT_FALSE(table.at(0x401010)->has(kUnwindEnd));
    EXPECT_TRUE(table.at(0x401020)->has(kUnwindEnd));
    EXPECT_TRUE(table.at(0x401020)->registers.empty());
}

TEST(UnwindRows, LongFunctionsMoveByEverySizeOfDistance) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    const auto terms = maker.terms({.code_factor = 4});
    maker.entry(terms, 0x401000, 0x90000,
                CfaProgram({0x41, 0x0e, 16,              // 4
                            0x02, 0x20, 0x0e, 24,        // 0x84
                            0x03, 0x00, 0x10, 0x0e, 32,  // 0x4084
                            0x04, 0x00, 0x00, 0x01, 0x00, 0x0e, 40}));
    const Table table(maker);
    EXPECT_EQ(table.at(0x401003)->cfa_offset, 8);
    EXPECT_EQ(table.at(0x401004)->cfa_offset, 16);
    EXPECT_EQ(table.at(0x401083)->cfa_offset, 16);
    EXPECT_EQ(table.at(0x401084)->cfa_offset, 24);
    EXPECT_EQ(table.at(0x405084)->cfa_offset, 32);
    EXPECT_EQ(table.at(0x445083)->cfa_offset, 32);
    EXPECT_EQ(table.at(0x445084)->cfa_offset, 40);
}

TEST(UnwindRows, AnEntryThatMakesNoSenseIsKnownUpToThere) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    const auto terms = maker.terms({});
    maker.entry(terms, 0x401000, 0x10, CfaProgram().advance(4).add({0x3f}));  // no such instruction
    maker.entry(terms, 0x401010, 0x10, CfaProgram().advance(4).add({0x0b}));  // nothing was remembered
    maker.entry(terms, 0x401020, 0x10, CfaProgram().cfa(40, 8));              // no such register
    maker.entry(terms, 0x401030, 0x10, CfaProgram({0x0f, 0x7f, 1}));          // an expression longer than the entry
    maker.entry(terms, 0x401040, 0x10, {});
    const Table table(maker);
    EXPECT_NE((*table).flags() & kUnwindDamaged, 0U);
    EXPECT_NE(table.at(0x401003), nullptr);
    EXPECT_EQ(table.at(0x401004), nullptr);
    EXPECT_NE(table.at(0x401013), nullptr);
    EXPECT_EQ(table.at(0x401014), nullptr);
    EXPECT_EQ(table.at(0x401020), nullptr);
    EXPECT_EQ(table.at(0x401030), nullptr);
    EXPECT_NE(table.at(0x401040), nullptr);
}

TEST(UnwindRows, BeyondTheLimitNothingIsCovered) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    const auto terms = maker.terms({});
    for (std::uint8_t i = 0; i < 20; ++i) {
        maker.entry(terms, 0x401000 + 16U * i, 16, CfaProgram().cfa_offset(static_cast<std::uint8_t>(16 + 8 * i)));
    }
    const Table table(maker, UnwindMachine::kX86_64, 10);
    EXPECT_NE((*table).flags() & kUnwindCut, 0U);
    EXPECT_EQ((*table).row_count(), 10U);
    EXPECT_EQ(table.at(0x401000)->cfa_offset, 16);
    for (std::uint64_t address = 0x401090; address < 0x401200; ++address) EXPECT_EQ(table.at(address), nullptr);
}

TEST(UnwindRows, TablesThatBreakTheirFormatAreRefused) {
    FrameSectionMaker maker(FrameSectionKind::kEhFrame);
    const auto terms = maker.terms({});
    maker.entry(terms, 0x401000, 0x10, CfaProgram({0x10, 4, 2, 0x77, 8}));
    FrameEntries entries;
    read_frame_entries(maker.section(), entries);
    const auto bytes =
        test::unwind_table_bytes(unwind_rows(entries, UnwindMachine::kX86_64, {kCode}, 100), UnwindMachine::kX86_64);
    ASSERT_TRUE(FileUnwind::from_bytes(bytes));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(FileUnwind::from_bytes(Bytes(bytes).first(size))) << size;
    }
    std::mt19937_64 random(7);
    unsigned accepted = 0;
    for (int round = 0; round < 20000; ++round) {
        auto changed = bytes;
        for (int n = 0; n < 2; ++n) changed[random() % changed.size()] = static_cast<std::byte>(random());
        const auto table = FileUnwind::from_bytes(changed);
        if (!table) continue;
        ++accepted;
        for (std::uint64_t address = 0x400ff0; address < 0x401020; ++address) {
            const UnwindRule* rule = table->find(LinkAddress{address});
            if (rule == nullptr) continue;
            ASSERT_LT(rule->cfa_register, unwind_registers(table->machine()));
            for (const auto& reg : rule->registers) ASSERT_LT(reg.number, unwind_registers(table->machine()));
        }
    }
    EXPECT_GT(accepted, 100U);
    EXPECT_LT(accepted, 19000U);
}

}  // namespace
}  // namespace perfvigil::analyzer
