// SPDX-License-Identifier: GPL-2.0-or-later
// Tables for code of this very process: the C library's, the vDSO's, and of what cannot be had.
#include "analyzer/unwind/unwind_tables.hpp"

#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/proc_snapshot.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil::analyzer {
namespace {

#ifdef __x86_64__
constexpr auto kMachine = UnwindMachine::kX86_64;
constexpr auto kOtherMachine = UnwindMachine::kArm64;
#else
constexpr auto kMachine = UnwindMachine::kArm64;
constexpr auto kOtherMachine = UnwindMachine::kX86_64;
#endif

class UnwindTablesTest : public testing::Test {
protected:
    UnwindTablesTest() {
        ::setenv("PERFVIGIL_SYMBOLS", test::kPerfvigilSymbols, 1);
        names_ = std::make_unique<HostNames>(system_clock());
    }
    ~UnwindTablesTest() override { ::unsetenv("PERFVIGIL_SYMBOLS"); }

    struct Place {
        collector::DsoRef dso;
        std::uint64_t offset = 0;
    };
    // What is mapped at an address of ours.
    Place place_of(std::uint64_t address) {
        const auto maps = read_file("/proc/self/maps");
        for (const auto line : split(*maps, '\n')) {
            collector::ProcMapping mapping;
            std::string storage;
            if (!collector::parse_maps_line(line, mapping, storage)) continue;
            if (address < mapping.start || address >= mapping.end) continue;
            auto dso = made(std::string(mapping.path));
            dso->kind = collector::dso_kind_of(mapping.path, {}, mapping.map_flags);
            dso->major = mapping.major;
            dso->minor = mapping.minor;
            dso->inode = mapping.inode;
            const bool vdso = dso->kind == collector::DsoKind::kVdso;
            return {dso, address - mapping.start + (vdso ? 0 : mapping.page_offset)};
        }
        return {};
    }
    std::shared_ptr<collector::Dso> made(const std::string& path) {
        auto dso = std::make_shared<collector::Dso>();
        dso->id = collector::DsoId{++next_id_};
        dso->path = path;
        dso->first_pid = Pid{::getpid()};
        return dso;
    }

    std::unique_ptr<HostNames> names_;
    std::uint32_t next_id_ = 0;
};

TEST_F(UnwindTablesTest, OfTheCLibrary) {
    UnwindTables tables(*names_);
    const auto [libc, offset] = place_of(reinterpret_cast<std::uint64_t>(&::getpid));
    ASSERT_NE(libc, nullptr);
    const UnwindRule* rule = tables.rule_at(libc, offset, kMachine);
    ASSERT_NE(rule, nullptr) << tables.sentences().size();
    EXPECT_EQ(tables.rule_at(libc, offset, kMachine), rule) << "remembered";
    EXPECT_EQ(tables.rule_at(libc, offset, kOtherMachine), nullptr);
    EXPECT_EQ(tables.rule_at(libc, 1U << 30, kMachine), nullptr);
    EXPECT_EQ(tables.table_count(), 1U);
    EXPECT_GT(tables.bytes(), 10'000U);
    EXPECT_TRUE(tables.sentences().empty());
}

TEST_F(UnwindTablesTest, OfTheVdso) {
    const auto image = ::getauxval(AT_SYSINFO_EHDR);
    if (image == 0) GTEST_SKIP() << "no vDSO";
#if defined(__aarch64__)
    GTEST_SKIP() << "arm64's vDSO has no unwind table";
#endif
    UnwindTables tables(*names_);
    std::size_t rules = 0;
    const auto [vdso, start] = place_of(image);
    ASSERT_NE(vdso, nullptr);
    for (std::uint64_t offset = 0; offset < 0x2000; ++offset) {
        rules += tables.rule_at(vdso, start + offset, kMachine) != nullptr ? 1 : 0;
    }
    EXPECT_GT(rules, 500U);
}

TEST_F(UnwindTablesTest, OverTheLimitTablesGoAndComeBack) {
    UnwindTables tables(*names_, 1);
    const auto [libc, offset] = place_of(reinterpret_cast<std::uint64_t>(&::getpid));
    for (int sample = 0; sample < 4; ++sample) {
        tables.next_sample();
        ASSERT_NE(tables.rule_at(libc, offset, kMachine), nullptr) << sample;
        EXPECT_EQ(tables.table_count(), 1U) << "that of the current sample stays";
    }
    tables.next_sample();
    tables.next_sample();
    EXPECT_EQ(tables.table_count(), 0U);
    EXPECT_EQ(tables.bytes(), 0U);
    EXPECT_NE(tables.rule_at(libc, offset, kMachine), nullptr);
}

TEST_F(UnwindTablesTest, WhatCannotBeHadIsToldWithItsReason) {
    UnwindTables tables(*names_);
    const auto gone = made("/nowhere/gone.so");
    gone->inode = 1;
    EXPECT_EQ(tables.rule_at(gone, 0x1000, kMachine), nullptr);
    tables.guessed(gone);
    tables.guessed(gone);
    tables.stopped(gone);
    const auto [libc, offset] = place_of(reinterpret_cast<std::uint64_t>(&::getpid));
    tables.stopped(libc);
    for (int i = 0; i < 9; ++i) tables.stopped(made("/nowhere/other" + std::to_string(i)));
    const auto sentences = tables.sentences();
    ASSERT_EQ(sentences.size(), 1U);
    const auto& said = sentences[0];
    EXPECT_TRUE(said.contains("2 steps were guessed")) << said;
    EXPECT_TRUE(said.contains("11 chains end early")) << said;
    EXPECT_TRUE(said.contains(": 3 in /nowhere/gone.so (")) << said;
    EXPECT_TRUE(said.contains("and 6 more files")) << said;
}

}  // namespace
}  // namespace perfvigil::analyzer
