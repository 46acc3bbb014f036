// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host_examination.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using Entry = collector::Degraded;

class HostExamination : public testing::Test {
protected:
    HostExamination() {
        options.store.directory = root / "store";
        options.captures.directory = root / "captures";
        root.write("store/x", "");
        root.write("proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t0\n");
        root.write("proc/kallsyms", "ffffffff81000000 T _text\n");
        root.write("proc/sys/kernel/perf_event_paranoid", "2\n");
        root.write("proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
        root.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
        options.store.bytes = options.captures.bytes = 0;
    }
    std::vector<Entry> examine(const std::vector<Entry>& known = {}) {
        return examine_host(options, known, root.path());
    }
    test::TempFolder root;
    config::Options options;
};

TEST_F(HostExamination, NothingIsSaidOfAHealthyHostNorOfWhatWasNotTried) {
    for (const auto& one : examine()) {
        // The temporary folder may be on a file system in memory.
        EXPECT_EQ(one.reason, "disk") << one.detail;
    }
}

TEST_F(HostExamination, IsPublishedUnderTheDoctorsReasons) {
    root.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    root.write("proc/self/status", "CapEff:\t0000004000000000\n");
    const auto found = examine();
    EXPECT_THAT(found, Contains(Field(&Entry::reason, "slow_clock")));
    EXPECT_THAT(found, Contains(Field(&Entry::detail, HasSubstr("perfvigild lacks CAP_SYSLOG"))));
}

TEST_F(HostExamination, WhatTheSessionSaysIsNotSaidTwice) {
    root.write("proc/sys/kernel/perf_event_max_sample_rate", "50\n");
    EXPECT_THAT(examine(), Contains(Field(&Entry::reason, "rate_limited")));
    EXPECT_THAT(examine({{"rate_limited", "x", "y"}}), Not(Contains(Field(&Entry::reason, "rate_limited"))));
}

}  // namespace
}  // namespace perfvigil::daemon
