// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/perf_probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>

#include "tests/support/fake_event_kernel.hpp"

namespace perfvigil::collector {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class Probe : public testing::Test {
protected:
    // Each event delivers `samples` in its trial.
    std::vector<EventProbe> probe(std::uint64_t samples) {
        return probe_events(kernel, {}, clock, [&](Nanoseconds length) {
            clock.advance(length);
            auto& ring = *kernel.rings.back();
            for (std::uint64_t i = 0; i < samples; ++i) ring.write_sample(clock.monotonic());
            ring.value = 7'000'000;
        });
    }
    test::ManualClock clock;
    test::FakeEventKernel kernel{clock, "/proc"};
};

TEST_F(Probe, EachEventIsTriedOnEveryCpuAndOnceForReal) {
    const auto probes = probe(42);
    ASSERT_THAT(probes, SizeIs(2));
    EXPECT_EQ(probes[0].event, "cycles");
    EXPECT_EQ(probes[1].event, "cpu-clock");
    for (const auto& one : probes) {
        EXPECT_THAT(one.cpus, SizeIs(2));
        EXPECT_THAT(one.refusals, IsEmpty());
        ASSERT_TRUE(one.trial);
        EXPECT_EQ(one.trial->samples, 42U);
        EXPECT_EQ(one.trial->counted, 7'000'000U);
        EXPECT_EQ(one.trial->worked, kTrialLength);
    }
    EXPECT_EQ(kernel.open_rings(), 0U) << "nothing stays open";
    EXPECT_GE(kernel.sealed, 2);
}

TEST_F(Probe, RefusalsAreNamedByCpu) {
    kernel.on_open = [](const EventAttr& attr, CpuId cpu, Tid) {
        if (attr.type == kTypeHardware) return cpu.value == 1 ? EBUSY : 0;
        return EACCES;
    };
    const auto probes = probe(1);
    ASSERT_THAT(probes[0].refusals, SizeIs(1));
    EXPECT_EQ(probes[0].refusals[0].cpu, CpuId{1});
    EXPECT_EQ(probes[0].refusals[0].error_number, EBUSY);
    EXPECT_TRUE(probes[0].opens_somewhere());
    EXPECT_THAT(probes[1].refusals, SizeIs(2));
    EXPECT_FALSE(probes[1].opens_somewhere());
    EXPECT_FALSE(probes[1].trial);
}

TEST_F(Probe, AnEventThatCannotLeaveOutGuestsIsTriedWithThem) {
    kernel.on_open = [](const EventAttr& attr, CpuId, Tid) { return attr.flag(kFlagExcludeGuest) ? EOPNOTSUPP : 0; };
    const auto probes = probe(3);
    for (const auto& one : probes) {
        EXPECT_THAT(one.refusals, IsEmpty());
        ASSERT_TRUE(one.trial);
    }
}

TEST_F(Probe, PrecisionIsNotWhatIsTried) {
    kernel.on_open = [](const EventAttr& attr, CpuId, Tid) { return attr.precise_ip() > 0 ? EOPNOTSUPP : 0; };
    RecordingOptions options;
    options.events = {parse_event("cycles:P").value()};
    const auto probes = probe_events(kernel, options, clock, [&](Nanoseconds length) { clock.advance(length); });
    ASSERT_THAT(probes, SizeIs(1));
    EXPECT_EQ(probes[0].event, "cycles:P");
    EXPECT_THAT(probes[0].refusals, IsEmpty());
    EXPECT_TRUE(probes[0].trial);
}

TEST_F(Probe, TheThreadMayRunWhereItCouldBefore) {
    cpu_set_t before;
    cpu_set_t after;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    (void)probe(0);
    ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace perfvigil::collector
