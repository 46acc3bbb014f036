// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/degraded_set.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

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

// The logger asks for JOURNAL_STREAM once, so each form runs in a process of its own.
std::string logged_by_child(bool journal, const std::function<void()>& say) {
    const test::TempFolder folder;
    const std::string path = folder / "log";
    test::spill(path, "");
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    const auto stream = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
    EXPECT_EXIT(
        {
            if (journal)
                ::setenv("JOURNAL_STREAM", stream.c_str(), 1);
            else
                ::setenv("JOURNAL_STREAM", "1:1", 1);
            if (std::freopen(path.c_str(), "a", stderr) == nullptr) std::_Exit(1);
            say();
            std::_Exit(0);
        },
        testing::ExitedWithCode(0), "");
    return test::slurp(path);
}

TEST(LogTest, JournalGetsPrioritiesAndNoTime) {
    const auto text = logged_by_child(true, [] {
        log::error("e");
        log::warning("w", {{"k", 1}});
        log::info("i");
        log::debug("not at this level");
        log::set_level(config::LogLevel::kDebug);
        log::debug("d");
        log::set_level(config::LogLevel::kError);
        log::warning("not any more");
    });
    EXPECT_EQ(text, "<3>e\n<4>w k=1\n<6>i\n<7>d\n");
}

TEST(LogTest, ElsewhereLinesBeginWithTimeAndLevel) {
    const auto text = logged_by_child(false, [] { log::warning("w", {{"k", "v"}}); });
    EXPECT_THAT(text, MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9.]+Z warning w k=v\n"));
}

TEST(DegradedSetTest, LogsEachChangeOnce) {
    const auto text = logged_by_child(true, [] {
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
    });
    EXPECT_EQ(text,
              "<4>degraded reason=store detail=read-only remedy=\"mount it writable\"\n"
              "<4>degraded reason=no_pmu detail=\"no cycles\" remedy=\"\"\n"
              "<6>no longer degraded reason=store\n");
}

TEST(DegradedSetTest, HoldsWhatEachOriginSaidLast) {
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
