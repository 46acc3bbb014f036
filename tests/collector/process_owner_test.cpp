// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/process_owner.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace perfvigil::collector {
namespace {

TEST(ProcessOwnerTest, IsReadFromTheStatus) {
    const auto owner = parse_process_owner("Name:\tUid: 7\nUmask:\t0022\nUid:\t1000\t0\t0\t0\nGid:\t5\t5\t5\t5\n");
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->real, Uid{1000});
    EXPECT_EQ(owner->effective, Uid{0});
    EXPECT_EQ(parse_process_owner("Uid:\t4294967295\t1\t1\t1")->real, Uid{4294967295});
}

TEST(ProcessOwnerTest, IsUnknownWhereTheTextIsDamaged) {
    for (const auto* text : {"", "Name:\tx\n", "Uid:", "Uid:\t", "Uid:\t1000", "Uid:\t1000\tx", "Uid:\t-1\t0\n"}) {
        EXPECT_FALSE(parse_process_owner(text)) << text;
    }
}

TEST(ProcessOwnerTest, OfThisProcess) {
    const auto owner = read_process_owner("/proc", Pid{::getpid()});
    ASSERT_TRUE(owner);
    EXPECT_EQ(owner->real, Uid{::getuid()});
    EXPECT_EQ(owner->effective, Uid{::geteuid()});
    EXPECT_FALSE(read_process_owner("/proc", Pid{0}));
}

}  // namespace
}  // namespace perfvigil::collector
