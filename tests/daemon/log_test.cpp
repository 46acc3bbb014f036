// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "daemon/degraded_set.hpp"

namespace perfvigil::daemon {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST(LogFormatTest, QuotesWhatIsNotPlain) {
    EXPECT_EQ(log::format("window stored", {{"id", "20260131T120500Z"}, {"bytes", 512}, {"ok", true}}),
              "window stored id=20260131T120500Z bytes=512 ok=true");
    EXPECT_EQ(log::format("x", {{"a", ""}}), "x a=\"\"");
    EXPECT_EQ(log::format("x", {{"a", "two words"}}), "x a=\"two words\"");
    EXPECT_EQ(log::format("x", {{"a", "say \"hi\" = 1"}}), "x a=\"say \\\"hi\\\" = 1\"");
    EXPECT_EQ(log::format("x", {{"r", 0.25}}), "x r=0.25");
}

TEST(LogFormatTest, StaysOneLineWhateverIsInIt) {
    const std::string hostile = "a\nperfvigild <3>forged\x1b[2J\\\xff\0b";
    const auto line = log::format("hostile\nname", {{"comm", hostile}});
    EXPECT_EQ(line.find_first_of("\n\x1b\xff"), std::string::npos);
    EXPECT_THAT(line, HasSubstr("comm=\"a\\x0aperfvigild <3>forged\\x1b[2J\\\\\\xff"));
}

// The logger asks for JOURNAL_STREAM once: each form needs a process that has said nothing yet, which a fork of one
// that runs many tests is not.
struct LogTest : testing::Test {
    LogTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
using DegradedSetTest = LogTest;

[[noreturn]] void say_to(bool journal, const std::function<void()>& say) {
    struct stat status{};
    if (::fstat(STDERR_FILENO, &status) != 0) std::_Exit(1);
    const auto stream = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
    ::setenv("JOURNAL_STREAM", journal ? stream.c_str() : "1:1", 1);
    say();
    std::_Exit(0);
}

TEST_F(LogTest, JournalGetsPrioritiesAndNoTime) {
    const auto say = [] {
        log::error("e");
        log::warning("w", {{"k", 1}});
        log::info("i");
        log::debug("not at this level");
        log::set_level(config::LogLevel::kDebug);
        log::debug("d");
        log::set_level(config::LogLevel::kError);
        log::warning("not any more");
    };
    EXPECT_EXIT(say_to(true, say), testing::ExitedWithCode(0), testing::Eq("<3>e\n<4>w k=1\n<6>i\n<7>d\n"));
}

TEST_F(LogTest, ElsewhereLinesBeginWithTimeAndLevel) {
    const auto say = [] { log::warning("w", {{"k", "v"}}); };
    EXPECT_EXIT(say_to(false, say), testing::ExitedWithCode(0),
                MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9.]+Z warning w k=v\n"));
}

TEST_F(DegradedSetTest, LogsEachChangeOnce) {
    const auto say = [] {
        DegradedSet set;
        const collector::Degraded store{"store", "read-only", "mount it writable"};
        collector::Degraded reworded = store;
        reworded.detail = "still read-only";
        set.set("store", {store});
        set.set("store", {store});
        set.set("store", {reworded});
        set.set("session", {{"no_pmu", "no cycles", ""}});
        set.clear("store");
        set.clear("store");
    };
    EXPECT_EXIT(say_to(true, say), testing::ExitedWithCode(0),
                testing::Eq("<4>degraded reason=store detail=read-only remedy=\"mount it writable\"\n"
                            "<4>degraded reason=no_pmu detail=\"no cycles\" remedy=\"\"\n"
                            "<6>no longer degraded reason=store\n"));
}

TEST_F(DegradedSetTest, HoldsWhatEachOriginSaidLast) {
    DegradedSet set;
    set.set("b", {{"two", "", ""}, {"three", "", ""}});
    set.set("a", {{"one", "", ""}});
    EXPECT_EQ(set.all().size(), 3U);
    set.set("b", {{"three", "", ""}});
    ASSERT_EQ(set.all().size(), 2U);
    EXPECT_EQ(set.all()[0].reason, "one");
    EXPECT_EQ(set.all()[1].reason, "three");
}

}  // namespace
}  // namespace perfvigil::daemon
