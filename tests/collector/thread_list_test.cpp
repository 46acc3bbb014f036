// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/thread_list.hpp"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

TEST(ThreadList, ThreadsOfProcesses) {
    const test::TempFolder proc;
    for (const char* thread : {"10/task/10", "10/task/12", "10/task/11", "20/task/20"})
        proc.write(std::string(thread) + "/comm", "");
    const auto threads = list_threads(proc.path(), Processes{{Pid{20}, Pid{10}, Pid{20}}});
    ASSERT_TRUE(threads) << threads.error().message;
    EXPECT_EQ(*threads, (std::vector<TargetThread>{
                            {Pid{10}, Tid{10}}, {Pid{10}, Tid{11}}, {Pid{10}, Tid{12}}, {Pid{20}, Tid{20}}}));
}

TEST(ThreadList, ThreadsByTheirOwnNumber) {
    const test::TempFolder proc;
    proc.write("12/status", "Name:\tx\nTgid:\t10\nPid:\t12\n");
    const auto threads = list_threads(proc.path(), Threads{{Tid{12}}});
    ASSERT_TRUE(threads) << threads.error().message;
    EXPECT_EQ(*threads, (std::vector<TargetThread>{{Pid{10}, Tid{12}}}));
}

TEST(ThreadList, WhatDoesNotExist) {
    const test::TempFolder proc;
    proc.write("5/status", "Name:\tx\n");
    EXPECT_EQ(list_threads(proc.path(), Processes{{Pid{1}}}).error().message, "process 1 does not exist");
    EXPECT_EQ(list_threads(proc.path(), Processes{{Pid{1}}}).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(list_threads(proc.path(), Threads{{Tid{2}}}).error().message, "thread 2 does not exist");
    EXPECT_EQ(list_threads(proc.path(), Threads{{Tid{5}}}).error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(list_threads(proc.path(), AllCpus{})->empty());
}

}  // namespace
}  // namespace perfvigil::collector
