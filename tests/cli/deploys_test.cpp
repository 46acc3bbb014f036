// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/deploys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perfvigil::cli {
namespace {

using std::chrono::minutes;

WallTime at(int minute) { return WallTime(minutes(minute)); }

// One letter per minute: the build that ran, '.' none, '*' both.
std::vector<BuildSighting> seen(std::string_view letters) {
    std::vector<BuildSighting> sightings;
    for (int i = 0; i < static_cast<int>(letters.size()); ++i) {
        const char letter = letters[static_cast<std::size_t>(i)];
        BuildSighting one{std::to_string(i), {at(i), at(i + 1)}, {}};
        if (letter == '*') {
            one.builds = {"a", "b"};
        } else if (letter != '.') {
            one.builds = {std::string(1, letter)};
        }
        sightings.push_back(std::move(one));
    }
    return sightings;
}

std::string told(std::string_view letters) {
    const auto deploy = last_deploy(seen(letters));
    if (!deploy) return "none";
    const auto minute = [](WallTime time) { return std::to_string(time.time_since_epoch() / minutes(1)); };
    return deploy->before + " " + minute(deploy->old_span.since) + "-" + minute(deploy->old_span.until) + " " +
           deploy->after + " " + minute(deploy->new_span.since) + "-" + minute(deploy->new_span.until);
}

TEST(LastDeploy, IsTheLastChange) {
    EXPECT_EQ(told("aaabb"), "a 0-3 b 3-5");
    EXPECT_EQ(told("aabbcc"), "b 2-4 c 4-6");
    EXPECT_EQ(told("aa*bb"), "a 0-2 b 3-5") << "the minute that saw both is on neither side";
    EXPECT_EQ(told("aa.bb"), "a 0-2 b 3-5");
    EXPECT_EQ(told("a.a.b.b."), "a 0-3 b 4-7") << "minutes without it end no side";
    EXPECT_EQ(told("bbaaabb"), "a 2-5 b 5-7") << "a build that came back";
    EXPECT_EQ(told("bb*aa*bb"), "a 3-5 b 6-8");
}

TEST(LastDeploy, NoneWhereNothingChanged) {
    for (const auto* letters : {"", "...", "aaaa", "a", "*", "aaa*", "**bb"})
        EXPECT_EQ(told(letters), "none") << letters;
}

TEST(Programs, TheMainOneOfAUnit) {
    analyzer::Profile profile;
    const auto add = [&](const char* unit, const char* path, const char* build) {
        analyzer::ProfileProgram row;
        row.unit = unit;
        row.path = path;
        row.build_id = build;
        profile.programs.push_back(std::move(row));
    };
    add("nginx.service", "/usr/sbin/nginx", "aa");
    add("other.service", "/usr/sbin/nginx", "cc");
    add("nginx.service", "/usr/bin/perl", "dd");
    add("nginx.service", "/usr/sbin/nginx", "bb");
    EXPECT_EQ(main_program(profile, "nginx.service"), "/usr/sbin/nginx");
    EXPECT_EQ(main_program(profile, "nginx"), "/usr/sbin/nginx");
    EXPECT_EQ(main_program(profile, "ngin"), "");
    EXPECT_THAT(builds_in(profile, "nginx", "/usr/sbin/nginx"), testing::ElementsAre("aa", "bb"));
}

}  // namespace
}  // namespace perfvigil::cli
