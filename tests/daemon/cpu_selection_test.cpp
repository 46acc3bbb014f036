// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/cpu_selection.hpp"

#include <gtest/gtest.h>

namespace perfvigil::daemon {
namespace {

using Kind = config::CpuSelection::Kind;

std::vector<CpuId> cpus(std::initializer_list<std::uint32_t> numbers) {
    std::vector<CpuId> list;
    for (const auto number : numbers) list.push_back(CpuId{number});
    return list;
}

TEST(CpuSelectionTest, ChoosesAmongTheOnline) {
    const HostCpus host{.online = cpus({0, 1, 2, 3, 5}), .isolated = cpus({3}), .nohz_full = cpus({2, 4})};
    EXPECT_EQ(select_cpus({Kind::kAll, {}}, host).value(), cpus({0, 1, 2, 3, 5}));
    EXPECT_EQ(select_cpus({Kind::kExceptIsolated, {}}, host).value(), cpus({0, 1, 5}));
    EXPECT_EQ(select_cpus({Kind::kList, cpus({5, 3, 4, 99})}, host).value(), cpus({3, 5}));
}

TEST(CpuSelectionTest, WithoutIsolationEverythingIsRecorded) {
    const HostCpus host{.online = cpus({0, 1}), .isolated = {}, .nohz_full = {}};
    EXPECT_EQ(select_cpus({}, host).value(), host.online);
}

TEST(CpuSelectionTest, NothingLeftIsAnError) {
    const HostCpus host{.online = cpus({0}), .isolated = cpus({0}), .nohz_full = {}};
    EXPECT_EQ(select_cpus({}, host).error().code, ErrorCode::kInvalid);
    EXPECT_FALSE(select_cpus({Kind::kList, cpus({7})}, host));
}

TEST(CpuSelectionTest, ReadsThisHost) {
    const auto host = read_host_cpus();
    ASSERT_TRUE(host) << host.error().message;
    EXPECT_FALSE(host->online.empty());
    EXPECT_TRUE(select_cpus({Kind::kAll, {}}, *host));
}

// What is followed while recording: CPUs that are not there yet too, and no others.
TEST(CpuSelectionTest, ARecordingFollowsWhatWasSelected) {
    const HostCpus host{.online = cpus({0, 1}), .isolated = cpus({3}), .nohz_full = cpus({2})};
    const auto wanted = [&](const config::CpuSelection& selection) {
        collector::RecordingOptions recording;
        follow_cpus(selection, host, recording);
        std::vector<CpuId> list;
        for (const auto cpu : cpus({0, 1, 2, 3, 4})) {
            if (recording.wants(cpu)) list.push_back(cpu);
        }
        return list;
    };
    EXPECT_EQ(wanted({Kind::kAll, {}}), cpus({0, 1, 2, 3, 4}));
    EXPECT_EQ(wanted({Kind::kExceptIsolated, {}}), cpus({0, 1, 4}));
    EXPECT_EQ(wanted({Kind::kList, cpus({1, 0})}), cpus({0, 1})) << "all that are online today, and no more tomorrow";
    EXPECT_EQ(wanted({Kind::kList, cpus({0, 4})}), cpus({0, 4}));
}

}  // namespace
}  // namespace perfvigil::daemon
