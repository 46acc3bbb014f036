// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/blocked_child.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/fd.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

TEST(BlockedChild, RunsOnlyWhenReleased) {
    const test::TempFolder folder;
    const std::string file = folder / "ran";
    auto child = BlockedChild::fork({"/bin/sh", "-c", "echo ran > " + file + "; exit 7"});
    ASSERT_TRUE(child) << child.error().message;
    EXPECT_FALSE(child->ended().has_value());
    EXPECT_FALSE(read_file(file).has_value());
    ASSERT_TRUE(child->release());
    EXPECT_EQ(exit_code_of(child->wait()), 7);
    EXPECT_EQ(read_file(file).value_or(""), "ran\n");
    EXPECT_EQ(child->ended(), child->wait());
}

TEST(BlockedChild, FoundInPathAndSignalled) {
    auto child = BlockedChild::fork({"sleep", "100"});
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->release());
    EXPECT_FALSE(child->ended().has_value());
    child->signal(SIGTERM);
    EXPECT_EQ(exit_code_of(child->wait()), 128 + SIGTERM);
    child->signal(SIGTERM);  // nobody there any more
}

TEST(BlockedChild, AProgramThatCannotBeExecuted) {
    struct Case {
        const char* program;
        const char* message;
    };
    for (const Case& c : {Case{"/no/such/program", "/no/such/program: No such file or directory"},
                          {"/etc/passwd", "/etc/passwd: Permission denied"},
                          {"a\nb", "a\\x0ab: No such file or directory"}}) {
        auto child = BlockedChild::fork({c.program});
        ASSERT_TRUE(child);
        const auto released = child->release();
        ASSERT_FALSE(released);
        EXPECT_EQ(released.error().message, c.message);
        EXPECT_EQ(exit_code_of(child->wait()), 127);
    }
    EXPECT_FALSE(BlockedChild::fork({}));
}

TEST(BlockedChild, EndsWithItsOwnerUnlessReleased) {
    Pid pid{};
    {
        auto child = BlockedChild::fork({"sleep", "100"});
        ASSERT_TRUE(child);
        pid = child->pid();
    }
    EXPECT_EQ(::kill(pid.value, 0), -1) << "reaped";
}

TEST(BlockedChild, KilledBeforeItsRelease) {
    auto child = BlockedChild::fork({"sleep", "100"});
    ASSERT_TRUE(child);
    ::kill(child->pid().value, SIGKILL);
    EXPECT_EQ(exit_code_of(child->wait()), 128 + SIGKILL);
    EXPECT_FALSE(child->release());
}

}  // namespace
}  // namespace perfvigil::collector
