// SPDX-License-Identifier: GPL-2.0-or-later
// A CPU goes offline and comes back while it is recorded. Everything on this machine feels that (pinned programs are
// moved for good), so it runs only where asked for: PERFVIGIL_TEST_HOTPLUG=1, as in the virtual machine of ./dev vm.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "collector/recording_session.hpp"
#include "tests/support/live_recording.hpp"

namespace perfvigil::test {
namespace {

using namespace perfvigil::collector;
using namespace std::chrono_literals;

bool set_online(const char* value) {
    std::ofstream file("/sys/devices/system/cpu/cpu1/online");
    file << value << std::flush;
    return file.good();
}

void expect_back(std::chrono::nanoseconds away) {
    RecordingOptions options;
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    options.slice = 1s;
    auto session = RecordingSession::open(options, system_clock());
    ASSERT_TRUE(session) << session.error().message;
    ASSERT_EQ((*session)->cpus().size(), 2U);
    Recorded recorded;
    int step = 0;
    record_for(**session, recorded, 8s, [&](std::chrono::nanoseconds elapsed) {
        if (step == 0 && elapsed > 1500ms) {
            step = 1;
            ASSERT_TRUE(set_online("0"));
        }
        if (step == 1 && elapsed > 1500ms + away) {
            step = 2;
            ASSERT_TRUE(set_online("1"));
        }
    });
    EXPECT_EQ((*session)->counters().cpus_gone, 1U);
    EXPECT_EQ((*session)->counters().cpus_back, 1U);
    EXPECT_EQ((*session)->cpus().size(), 2U);
    EXPECT_EQ(recorded.without_event, 0U);
    // Two instances of the clock on CPU 1, and the time of both together falls short by what it was away.
    std::size_t instances = 0;
    for (const auto& [id, reads] : recorded.reads) {
        if (reads.front().event == 0 && reads.front().cpu == CpuId{1}) ++instances;
    }
    EXPECT_EQ(instances, 2U);
    const double missing = truth_of(recorded, 0, 0).enabled_s - truth_of(recorded, 0, 1).enabled_s;
    EXPECT_GE(missing, to_seconds(away) - 0.1);
    EXPECT_LE(missing, to_seconds(away) + 3.5) << "noticed within a second, or at the second cut";
}

TEST(RecordingHotplug, ACpuThatStaysAwayForSeconds) {
    if (std::getenv("PERFVIGIL_TEST_HOTPLUG") == nullptr)
        GTEST_SKIP() << "set PERFVIGIL_TEST_HOTPLUG=1 to take CPU 1 offline";
    expect_back(2500ms);
}

TEST(RecordingHotplug, ACpuThatIsBackBeforeAnyoneLooks) {
    if (std::getenv("PERFVIGIL_TEST_HOTPLUG") == nullptr)
        GTEST_SKIP() << "set PERFVIGIL_TEST_HOTPLUG=1 to take CPU 1 offline";
    expect_back(0ms);
}

}  // namespace
}  // namespace perfvigil::test
