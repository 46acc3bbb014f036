// SPDX-License-Identifier: GPL-2.0-or-later
// Samples with copies of the stack, through the unwinder and on into slices.
#include "analyzer/unwind/stack_unwinder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/slice/builder.hpp"
#include "tests/support/record_bytes.hpp"
#include "tests/support/slice_collector.hpp"

namespace perfvigil::analyzer {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kStack = 0x7ffd00001000;
constexpr std::uint64_t kProgram = 0x555500000000;
constexpr std::uint64_t kLibrary = 0x7f0000000000;
constexpr std::uint64_t kSignalled = 0x7f1100000000;
constexpr EventId kClock{10};

// Every function of these files leaves 16 bytes: CFA = rsp + 16. The program's first page is the outermost function.
class Tables final : public UnwindSource {
public:
    Tables() {
        step_.cfa_register = 7;
        step_.cfa_offset = 16;
        step_.return_column = 16;
        step_.registers = saved_;
        outermost_.flags = kUnwindEnd;
    }
    const UnwindRule* rule_at(const collector::DsoRef& dso, std::uint64_t offset, UnwindMachine machine) override {
        asked.push_back(dso->path + "+" + std::to_string(offset));
        if (machine != UnwindMachine::kX86_64 || dso->path == "/lib/without.so") return nullptr;
        return dso->path == "/usr/bin/program" && offset < 0x1000 ? &outermost_ : &step_;
    }
    void guessed(const collector::DsoRef& dso) override { ++guesses[dso->path]; }
    void stopped(const collector::DsoRef& dso) override { ++stops[dso->path]; }

    std::vector<std::string> asked;
    std::map<std::string, int> guesses;
    std::map<std::string, int> stops;

private:
    std::vector<RegisterRule> saved_{{.number = 16, .kind = RegisterRuleKind::kOffset, .value = -8}};
    UnwindRule step_;
    UnwindRule outermost_;
};

class StackUnwinderTest : public testing::Test {
protected:
    StackUnwinderTest() {
        collector::EventAttr attr = test::cpu_clock_attr();
        attr.sample_type |= collector::kSampleRegsUser | collector::kSampleStackUser;
        attr.sample_regs_user = 0xff0fff;
        attr.sample_stack_user = 256;
        table.add_event({"cpu-clock", collector::EventRole::kSampling, attr});
        collector::EventInstance instance;
        instance.cpu = CpuId{0};
        instance.nominal_period = Nanoseconds(1000);
        instance.layout = collector::RecordLayout::of(attr);
        table.add_instance(kClock, instance);
        collector::TaskRecord started;  // as a snapshot tells of it: what follows is all that is mapped
        started.fork_exec = true;
        started.pid = Pid{5};
        started.tid = Tid{5};
        started.parent_pid = Pid{1};
        processes.apply(started);
        processes.apply(mapped("/usr/bin/program", kProgram));
        processes.apply(mapped("/lib/library.so", kLibrary));
        processes.apply(mapped("/lib/without.so", kSignalled));
        processes.apply(mapped("//anon", 0x10000000));
        fields.id.id = kClock;
        fields.id.pid = Pid{5};
        fields.id.tid = Tid{5};
        fields.id.time = monotonic_from_ns(1000);
        fields.user_registers = {{6, 0}, {7, kStack}, {8, kLibrary + 0x100}};
        words.resize(32);
        words[1] = kProgram + 0x2010;
        words[3] = kProgram + 0x10;
    }
    static collector::MmapRecord mapped(std::string_view path, std::uint64_t start) {
        collector::MmapRecord mmap;
        mmap.pid = Pid{5};
        mmap.tid = Tid{5};
        mmap.start = start;
        mmap.length = 0x100000;
        mmap.protection = 5;
        mmap.path = path;
        return mmap;
    }
    std::vector<std::uint64_t> chain() {
        const auto stack = std::as_bytes(std::span(words));
        fields.user_stack.assign(stack.begin(), stack.end());
        bytes = test::record_bytes(table.find(kClock)->layout, fields);
        record = collector::decode_record(bytes, table.find(kClock)->layout);
        const auto unwound = unwinder.chain_of(std::get<collector::SampleRecord>(*record), processes.process(Pid{5}));
        flags = unwound ? unwound->flags : 0xff;
        std::vector<std::uint64_t> out;
        for (std::size_t i = 0; unwound && i < unwound->chain.size(); ++i) out.push_back(unwound->chain[i]);
        return out;
    }

    collector::EventTable table;
    collector::ProcessTable processes;
    Tables tables;
    StackUnwinder unwinder{tables, std::nullopt};
    test::SampleFields fields;
    std::vector<std::uint64_t> words;
    test::RecordBytes bytes;
    std::optional<collector::Record> record;
    unsigned flags = 0;
};

TEST_F(StackUnwinderTest, AWholeUserChain) {
    EXPECT_THAT(chain(), ElementsAre(collector::kContextUser, kLibrary + 0x100, kProgram + 0x2010, kProgram + 0x10));
    EXPECT_EQ(flags, 0U);
    EXPECT_EQ(unwinder.counters().outermost, 1U);
    EXPECT_THAT(tables.asked, ElementsAre("/lib/library.so+256", "/usr/bin/program+8207", "/usr/bin/program+15"));
}

TEST_F(StackUnwinderTest, TheKernelsPartStaysInFront) {
    fields.misc = collector::kMiscKernel;
    fields.chain = {collector::kContextKernel, 0xffffffff81000010, 0xffffffff81000120};
    EXPECT_THAT(chain(), ElementsAre(collector::kContextKernel, 0xffffffff81000010, 0xffffffff81000120,
                                     collector::kContextUser, kLibrary + 0x100, kProgram + 0x2010, kProgram + 0x10));
    // Callers that the kernel found itself give way.
    fields.chain.insert(fields.chain.end(), {collector::kContextUser, 0x1234, 0x5678});
    EXPECT_EQ(chain().size(), 7U);
    // … to a whole chain alone.
    words[1] = 0x4444;
    EXPECT_TRUE(chain().empty());
    EXPECT_EQ(unwinder.counters().broken, 1U);
    // A leaf is no caller.
    fields.chain = {collector::kContextKernel, 0xffffffff81000010, collector::kContextUser, 0x1234};
    EXPECT_THAT(chain(), ElementsAre(collector::kContextKernel, 0xffffffff81000010, collector::kContextUser,
                                     kLibrary + 0x100, 1U));
    fields.misc = collector::kMiscUser;
    fields.chain = {0x1234, 0x5678};  // some recorders leave the markers out
    words[1] = kProgram + 0x2010;
    EXPECT_EQ(chain().size(), 4U);
}

TEST_F(StackUnwinderTest, WhatACopyCannotShowIsMarked) {
    words.resize(2);
    EXPECT_THAT(chain(), ElementsAre(collector::kContextUser, kLibrary + 0x100, kProgram + 0x2010));
    EXPECT_EQ(flags, unsigned{kStackTruncated});
    words.assign(32, 0);
    words[1] = 0x4444;
    EXPECT_THAT(chain(), ElementsAre(collector::kContextUser, kLibrary + 0x100, 1U)) << "an address that nothing holds";
    EXPECT_EQ(flags, 0U);
    EXPECT_EQ(unwinder.counters().copy_ends, 1U);
    EXPECT_EQ(unwinder.counters().broken, 1U);
}

TEST_F(StackUnwinderTest, FramePointersStandInForAMissingTableAndAreCounted) {
    fields.user_registers[8] = kSignalled + 0x40;
    fields.user_registers[6] = kStack + 0x20;
    words[4] = 0;
    words[5] = kProgram + 0x10;
    EXPECT_THAT(chain(), ElementsAre(collector::kContextUser, kSignalled + 0x40, kProgram + 0x10));
    EXPECT_EQ(flags, unsigned{kStackGuessed});
    EXPECT_EQ(tables.guesses["/lib/without.so"], 1);
    // Where it leads nowhere the chain ends, and nobody is blamed for breaking it.
    fields.user_registers[6] = 0x1234;
    EXPECT_THAT(chain(), ElementsAre(collector::kContextUser, kSignalled + 0x40));
    EXPECT_EQ(flags, unsigned{kStackGuessed});
    EXPECT_EQ(tables.stops["/lib/without.so"], 1);
    EXPECT_EQ(unwinder.counters().no_rule, 1U);
    fields.user_registers[6] = kStack + 0x20;
    // Code without a file keeps frame pointers: that is no guess.
    fields.user_registers[8] = 0x10000040;
    EXPECT_THAT(chain(), ElementsAre(collector::kContextUser, 0x10000040U, kProgram + 0x10));
    EXPECT_EQ(flags, 0U);
    EXPECT_EQ(unwinder.counters().guessed, 1U);
    EXPECT_EQ(unwinder.counters().broken, 0U);
}

TEST_F(StackUnwinderTest, StacksOfOthersAreLeftAlone) {
    fields.user_regs = false;
    EXPECT_TRUE(chain().empty());
    EXPECT_EQ(unwinder.counters().unsupported, 0U) << "a kernel thread has none";
    fields.user_regs = true;
    StackUnwinder elsewhere(tables, UnwindMachine::kOther);
    (void)chain();
    const auto& sample = std::get<collector::SampleRecord>(*record);
    EXPECT_FALSE(elsewhere.chain_of(sample, processes.process(Pid{5})));
    collector::SampleRecord narrow = sample;
    narrow.user_registers.abi = 1;
    EXPECT_FALSE(elsewhere.chain_of(narrow, processes.process(Pid{5})));
    EXPECT_EQ(elsewhere.counters().unsupported, 2U);
    collector::SampleRecord swapped = sample;
    swapped.user_registers.endian = Endian::kSwapped;
    EXPECT_FALSE(unwinder.chain_of(swapped, processes.process(Pid{5})));
    swapped = sample;
    swapped.user_registers.mask = 0xff;  // no instruction pointer
    EXPECT_FALSE(unwinder.chain_of(swapped, processes.process(Pid{5})));
    EXPECT_EQ(unwinder.counters().unsupported, 2U);
    EXPECT_EQ(unwind_machine("x86_64"), UnwindMachine::kX86_64);
    EXPECT_EQ(unwind_machine("aarch64"), UnwindMachine::kArm64);
    EXPECT_EQ(unwind_machine("s390x"), UnwindMachine::kOther);
}

// perf's numbers differ from DWARF's: each register must arrive under its own.
TEST_F(StackUnwinderTest, EveryRegisterIsTheOneItIsCalled) {
    struct Case {
        unsigned perf;
        std::uint8_t dwarf;
    };
    // ax bx cx dx si di bp sp, r8 to r15.
    const Case cases[] = {{0, 0},  {1, 3},  {2, 2},   {3, 1},   {4, 4},   {5, 5},   {6, 6},   {7, 7},
                          {16, 8}, {17, 9}, {18, 10}, {19, 11}, {20, 12}, {21, 13}, {22, 14}, {23, 15}};
    class OneRegister final : public UnwindSource {
    public:
        const UnwindRule* rule_at(const collector::DsoRef& dso, std::uint64_t /*offset*/,
                                  UnwindMachine /*machine*/) override {
            return dso->path == "/lib/library.so" ? &rule : nullptr;
        }
        void guessed(const collector::DsoRef& /*dso*/) override {}
        void stopped(const collector::DsoRef& /*dso*/) override {}
        std::vector<RegisterRule> saved{{.number = 16, .kind = RegisterRuleKind::kOffset, .value = 0}};
        UnwindRule rule;
    };
    for (const auto& [perf, dwarf] : cases) {
        OneRegister source;
        source.rule.cfa_register = dwarf;
        source.rule.cfa_offset = perf == 7 ? 0x40 : 0;
        source.rule.return_column = 16;
        source.rule.registers = source.saved;
        fields.user_registers = {{7, kStack}, {8, kLibrary + 0x100}};
        if (perf != 7) fields.user_registers[perf] = kStack + 0x40;
        words.assign(32, 0);
        words[8] = kProgram + 0x10;
        (void)chain();
        StackUnwinder one(source, std::nullopt);
        const auto unwound = one.chain_of(std::get<collector::SampleRecord>(*record), processes.process(Pid{5}));
        ASSERT_TRUE(unwound);
        ASSERT_GE(unwound->chain.size(), 3U) << perf;
        EXPECT_EQ(unwound->chain[2], kProgram + 0x10) << perf;
    }
}

TEST_F(StackUnwinderTest, SlicesHoldUnwoundChainsWithTheirMarks) {
    std::vector<std::unique_ptr<Slice>> slices;
    SliceBuilder builder(table, processes, KernelText(), {},
                         [&](std::unique_ptr<Slice> slice) { slices.push_back(std::move(slice)); });
    builder.set_user_chains(&unwinder);
    const auto give = [&] {
        (void)chain();
        builder.on_record({fields.id.time, table.find(kClock), *record, bytes, false});
    };
    give();
    words[1] = 0x4444;  // broken in the library
    give();
    words.resize(2);
    words[1] = kProgram + 0x2010;  // cut
    give();
    words.resize(32);
    fields.user_registers[8] = kSignalled + 0x40;
    fields.user_registers[6] = kStack + 0x20;
    words[5] = kProgram + 0x10;
    give();
    builder.on_cut({.time = monotonic_from_ns(5000), .wall = {}, .cpu_times = {}, .modules = {}, .last = true});
    ASSERT_EQ(slices.size(), 1U);
    const Slice& slice = *slices[0];
    ASSERT_EQ(slice.stacks.size(), 4U);
    std::vector<std::pair<unsigned, unsigned>> seen;
    for (const auto& stack : slice.stacks) seen.emplace_back(stack.depth, stack.flags);
    EXPECT_THAT(seen, testing::UnorderedElementsAre(std::pair(3U, 0U), std::pair(1U, unsigned{kStackBroken}),
                                                    std::pair(2U, unsigned{kStackTruncated}),
                                                    std::pair(2U, unsigned{kStackGuessed})));
    // Without an unwinder such samples have their leaf, and are not called broken.
    builder.set_user_chains(nullptr);
    fields.ip = kSignalled + 0x40;
    give();
    builder.on_cut({.time = monotonic_from_ns(9000), .wall = {}, .cpu_times = {}, .modules = {}, .last = true});
    ASSERT_EQ(slices.size(), 2U);
    ASSERT_EQ(slices[1]->stacks.size(), 1U);
    EXPECT_EQ(slices[1]->stacks[0].depth, 1U);
    EXPECT_EQ(slices[1]->stacks[0].flags, 0U);
}

}  // namespace
}  // namespace perfvigil::analyzer
