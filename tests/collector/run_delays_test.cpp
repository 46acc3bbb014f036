// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/run_delays.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string schedstat(std::uint64_t first, std::uint64_t second) {
    return "version 15\ntimestamp 4295000000\ncpu0 0 0 0 0 0 0 5000000000 " + std::to_string(first) +
           " 4711\ndomain0 3 1 2 3 4 5 6 7 8 9 10\ncpu1 0 0 0 0 0 0 7 " + std::to_string(second) + " 9\n";
}

TEST(RunDelayText, OfEachCpu) {
    EXPECT_THAT(parse_run_delays(schedstat(1234567890, 42)),
                ElementsAre(RunDelay{CpuId{0}, Nanoseconds(1234567890)}, RunDelay{CpuId{1}, Nanoseconds(42)}));
    EXPECT_THAT(parse_run_delays("cpux 0 0 0 0 0 0 1 2 3\ncpu1 0 0 0\ncpu2 0 0 0 0 0 0 1 y 3\n"), IsEmpty());
    EXPECT_THAT(parse_run_delays(""), IsEmpty());
}

TEST(RunDelayText, WhatWasAddedBetweenLooks) {
    const test::TempFolder folder;
    const auto file = folder.write("schedstat", schedstat(1000, 50));
    RunDelays delays(file);
    EXPECT_THAT(delays.since_last(), IsEmpty()) << "what was before is not ours";
    folder.write("schedstat", schedstat(1700, 50));
    EXPECT_THAT(delays.since_last(),
                ElementsAre(RunDelay{CpuId{0}, Nanoseconds(700)}, RunDelay{CpuId{1}, Nanoseconds(0)}));
    folder.write("schedstat", schedstat(5, 60));
    EXPECT_THAT(delays.since_last(),
                ElementsAre(RunDelay{CpuId{0}, Nanoseconds(0)}, RunDelay{CpuId{1}, Nanoseconds(10)}))
        << "nothing is taken back";
}

TEST(RunDelayText, AKernelThatDoesNotSay) {
    RunDelays absent("/nonexistent/schedstat");
    EXPECT_THAT(absent.since_last(), IsEmpty());
    EXPECT_THAT(RunDelays("").since_last(), IsEmpty());
}

}  // namespace
}  // namespace perfvigil::collector
