// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/grouping.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/profile_maker.hpp"

namespace perfvigil::analyzer {
namespace {

using test::ProfileMaker;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Profile two_commands() {
    return ProfileMaker()
        .add("main;copy@/lib/libc.so.6", 4, {.comm = "web", .cgroup = "/system.slice/nginx.service"})
        .add("main", 2, {.comm = "web", .cgroup = "/system.slice/nginx.service"})
        .add("main;copy@/lib/libc.so.6", 3, {.comm = "db"})
        .add("[unknown]@/lib/libx.so", 1, {.comm = "db"})
        .idle("idle@[kernel.kallsyms]", 9)
        .build();
}

std::vector<std::string> lines(const std::vector<Group>& groups) {
    std::vector<std::string> text;
    for (const auto& group : groups) {
        std::string line = std::to_string(group.samples);
        for (const auto& name : group.names) line += " " + (name.empty() ? "-" : name);
        EXPECT_EQ(group.weight, group.samples * ProfileMaker::kTick);
        text.push_back(line);
    }
    return text;
}

TEST(Grouping, OneKeyAndSeveral) {
    const auto profile = two_commands();
    const auto by = [&](std::vector<GroupKey> keys, IdleRows idle = IdleRows::kExclude) {
        return lines(group_by(profile, 0, keys, idle));
    };
    EXPECT_THAT(by({GroupKey::kComm}), ElementsAre("6 web", "4 db"));
    EXPECT_THAT(by({GroupKey::kComm}, IdleRows::kInclude), ElementsAre("9 swapper", "6 web", "4 db"));
    EXPECT_THAT(by({GroupKey::kDso}), ElementsAre("7 /lib/libc.so.6", "2 /bin/app", "1 /lib/libx.so"));
    EXPECT_THAT(by({GroupKey::kSymbol, GroupKey::kComm}),
                ElementsAre("4 copy web", "3 copy db", "2 main web", "1 [unknown: stripped] db"));
    EXPECT_THAT(by({GroupKey::kUnit}), ElementsAre("6 nginx.service", "4 -"));
    EXPECT_THAT(lines(group_by(profile, 1, {GroupKey::kComm}, IdleRows::kInclude)), IsEmpty());
}

TEST(Grouping, NumbersOfTheContext) {
    auto profile = two_commands();
    EXPECT_THAT(keys_not_kept(profile, {GroupKey::kComm, GroupKey::kPid, GroupKey::kCpu}),
                ElementsAre(GroupKey::kPid, GroupKey::kCpu));
    profile.contexts[0].pid = Pid{0};
    profile.contexts[1].pid = Pid{4711};
    profile.contexts[0].cpu = CpuId{0};
    EXPECT_THAT(keys_not_kept(profile, {GroupKey::kPid, GroupKey::kCpu}), IsEmpty());
    EXPECT_THAT(lines(group_by(profile, 0, {GroupKey::kPid}, IdleRows::kInclude)), ElementsAre("9 -", "6 0", "4 4711"));
}

TEST(Grouping, NestedRowsAddUp) {
    const auto rows = nested(group_by(two_commands(), 0, {GroupKey::kComm, GroupKey::kSymbol}, IdleRows::kExclude));
    std::vector<std::string> text;
    for (const auto& row : rows)
        text.push_back(std::string(row.depth, ' ') + std::to_string(row.samples) + " " + row.name);
    EXPECT_THAT(text, ElementsAre("6 web", " 4 copy", " 2 main", "4 db", " 3 copy", " 1 [unknown: stripped]"));
    EXPECT_THAT(nested({}), IsEmpty());
}

TEST(Grouping, KeysAreReadStrictly) {
    EXPECT_THAT(parse_group_keys("comm, dso").value(), ElementsAre(GroupKey::kComm, GroupKey::kDso));
    EXPECT_THAT(parse_group_keys("comm,comm").error().message, HasSubstr("twice"));
    EXPECT_THAT(parse_group_keys("command").error().message,
                HasSubstr("there are comm, pid, tid, cpu, dso, symbol, unit, srcline"));
    EXPECT_FALSE(parse_group_keys(""));
    for (const auto key : {GroupKey::kComm, GroupKey::kPid, GroupKey::kTid, GroupKey::kCpu, GroupKey::kDso,
                           GroupKey::kSymbol, GroupKey::kUnit, GroupKey::kSrcline}) {
        EXPECT_THAT(parse_group_keys(group_key_name(key)).value(), ElementsAre(key));
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
