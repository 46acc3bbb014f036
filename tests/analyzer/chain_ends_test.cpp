// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/chain_ends.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analyzer/export/folded.hpp"
#include "base/text.hpp"
#include "tests/support/profile_maker.hpp"

namespace perfvigil::analyzer {
namespace {

using test::ProfileMaker;

// Folded stacks with their samples, in order of their text.
std::string sorted_stacks(const Profile& profile) {
    const auto text = folded(profile, 0, {.value = FoldedOptions::Value::kSamples});
    std::vector<std::string_view> lines = split(text, '\n');
    std::ranges::sort(lines);
    std::string sorted;
    for (const auto line : lines) sorted += line.empty() ? std::string() : std::string(line) + '\n';
    return sorted;
}

Profile mixed() {
    return ProfileMaker()
        .add("_start@/lib/ld.so;main;parse;copy@/lib/libc.so", 10)
        .add("parse;copy@/lib/libc.so", 3, {}, kStackTruncated)
        .add("parse;copy@/lib/libc.so", 4, {}, kStackBroken)
        .add("parse;copy@/lib/libc.so", 5)
        .add("copy@/lib/libc.so", 6, {}, kStackCut)
        .add("copy@/lib/libc.so", 7)
        .idle("cpu_startup_entry@[kernel.kallsyms];do_idle@[kernel.kallsyms]", 100)
        .build();
}

TEST(ChainEnds, AreToldByFlagsAndRoots) {
    const auto profile = mixed();
    ChainEnds ends(profile);
    std::map<std::uint64_t, std::string> by_samples;
    for (const auto& sample : profile.samples) {
        by_samples[sample.samples] = chain_end_name(ends.of(profile.stacks[sample.stack]));
    }
    EXPECT_EQ(by_samples, (std::map<std::uint64_t, std::string>{{3, "truncated"},
                                                                {4, "broken"},
                                                                {5, "rootless"},
                                                                {6, "shortened"},
                                                                {7, "rootless"},
                                                                {10, "rooted"},
                                                                {100, "rooted"}}));
}

TEST(ChainEnds, AreCountedByTheBinaryTheyEndIn) {
    const auto profile = mixed();
    const auto rows = chain_end_counts(profile, 0);
    ASSERT_EQ(rows.size(), 2U);  // nothing ends in ld.so but at a root
    EXPECT_EQ(rows[0].dso, "/lib/libc.so");
    EXPECT_EQ(rows[0].samples, 35U);
    EXPECT_EQ(rows[0].unrooted(), 13U);
    EXPECT_EQ(rows[0].ends[index_of(ChainEnd::kShortened)], 6U);
    EXPECT_EQ(rows[0].ends[index_of(ChainEnd::kRootless)], 7U);
    EXPECT_EQ(rows[1].dso, "/bin/app");
    EXPECT_EQ(rows[1].samples, 22U);
    EXPECT_EQ(rows[1].ends[index_of(ChainEnd::kBroken)], 4U);
    EXPECT_EQ(rows[1].ends[index_of(ChainEnd::kTruncated)], 3U);
    EXPECT_EQ(rows[1].ends[index_of(ChainEnd::kRootless)], 5U);
    EXPECT_EQ(event_with_chains(profile), 0U);
}

TEST(ChainEnds, AreNotJudgedWhereNoChainsWereRecorded) {
    const auto flat = ProfileMaker().add("f", 3).add("g", 4).build();
    EXPECT_TRUE(chain_end_counts(flat, 0).empty());
    EXPECT_EQ(event_with_chains(flat), std::nullopt);
    EXPECT_EQ(with_marked_ends(flat, MarkedEnds::kUnrooted), flat);
}

TEST(ChainEnds, MarkedOnesAreNeverMergedWithWholeStacks) {
    const auto profile = with_marked_ends(mixed(), MarkedEnds::kUnrooted);
    EXPECT_EQ(sorted_stacks(profile),
              "app;[broken];parse;copy 4\n"
              "app;[rootless];parse;copy 5\n"
              "app;[shortened];copy 6\n"
              "app;[truncated];parse;copy 3\n"
              "app;_start;main;parse;copy 10\n"
              "app;copy 7\n");
    EXPECT_EQ(with_marked_ends(profile, MarkedEnds::kUnrooted), profile) << "once is enough";
    const auto missing = with_marked_ends(mixed(), MarkedEnds::kMissing);
    EXPECT_EQ(sorted_stacks(missing),
              "app;[broken];parse;copy 4\n"
              "app;[shortened];copy 6\n"
              "app;[truncated];parse;copy 3\n"
              "app;_start;main;parse;copy 10\n"
              "app;copy 7\n"
              "app;parse;copy 5\n");
}

}  // namespace
}  // namespace perfvigil::analyzer
