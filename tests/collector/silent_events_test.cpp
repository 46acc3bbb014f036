// SPDX-License-Identifier: GPL-2.0-or-later
// Events that open and do nothing, through a whole session against a scripted kernel.
#include "collector/silent_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "collector/recording_session.hpp"
#include "tests/support/fake_event_kernel.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Nobody final : public RecordSink {
public:
    void on_record(const OrderedRecord&) override {}
    void on_cut(const Cut&) override {}
};

class SilentEvents : public testing::Test {
protected:
    void open() {
        RecordingOptions options;
        options.slice = 1s;
        auto opened = RecordingSession::open(options, clock, kernel);
        ASSERT_TRUE(opened) << opened.error().message;
        session = std::move(*opened);
        ASSERT_TRUE(session->start());
        for (const CpuId cpu : kernel.online) sample_all(cpu);
    }
    // Each event in the CPU's ring gives a sample.
    void sample_all(CpuId cpu) {
        auto& ring = *kernel.ring(cpu.value, false);
        for (std::size_t event = 0; event < ring.request.events.size(); ++event) {
            ring.write_sample(clock.monotonic(), 1, event);
        }
    }
    void run_until(Nanoseconds since_start) {
        for (auto next = session->next_pump(); next && *next <= start + since_start; next = session->next_pump()) {
            clock.advance(std::max(*next, clock.monotonic()) - clock.monotonic());
            ASSERT_TRUE(session->pump(nobody));
        }
    }
    [[nodiscard]] std::string said() const {
        const auto entry = std::ranges::find(session->degraded(), "event_silent", &Degraded::reason);
        return entry == session->degraded().end() ? "" : entry->detail;
    }

    test::TempFolder proc;
    test::ManualClock clock;
    MonotonicTime start = clock.monotonic();
    test::FakeEventKernel kernel{clock, proc.path()};
    std::unique_ptr<RecordingSession> session;
    Nobody nobody;
};

TEST_F(SilentEvents, NothingIsSaidWhereAllCount) {
    open();
    run_until(6500ms);
    EXPECT_THAT(said(), IsEmpty());
}

TEST_F(SilentEvents, AnEventThatCountsNothingOnACpuIsNamedUntilItDoes) {
    open();
    kernel.ring(1, false)->silent = {0};
    run_until(1500ms);
    EXPECT_THAT(said(), IsEmpty()) << "too early to tell";
    run_until(4500ms);
    EXPECT_THAT(said(), HasSubstr("cycles is enabled and counts nothing on CPUs 1 (1 of 2)"));
    kernel.ring(1, false)->silent = {};
    run_until(6500ms);
    EXPECT_THAT(said(), IsEmpty());
}

TEST_F(SilentEvents, AClockThatCountsNothingButTicksIsAlive) {
    open();
    kernel.ring(0, false)->silent = {1};
    kernel.ring(1, false)->silent = {1};
    // That cycles of the same ring sample says nothing of the clock.
    kernel.ring(1, false)->records.pop_back();
    run_until(4500ms);
    EXPECT_THAT(said(), HasSubstr("cpu-clock is enabled and counts nothing on CPUs 1 (1 of 2)"));
}

TEST_F(SilentEvents, AnEventThatCountsAndNeverInterruptsIsNamedUntilItDoes) {
    open();
    kernel.ring(0, false)->records.pop_front();  // cycles
    kernel.ring(1, false)->records.pop_back();   // cpu-clock: an idle CPU may write no samples
    run_until(1500ms);
    EXPECT_THAT(said(), IsEmpty()) << "too early to tell";
    run_until(4500ms);
    EXPECT_THAT(said(), HasSubstr("cycles counts and gives no samples on CPUs 0 (1 of 2)"));
    EXPECT_THAT(said(), Not(HasSubstr("cpu-clock")));
    kernel.ring(0, false)->write_sample(clock.monotonic());
    run_until(6500ms);
    EXPECT_THAT(said(), IsEmpty());
}

TEST_F(SilentEvents, SamplesThatAreLostWereGiven) {
    open();
    kernel.ring(0, false)->records.clear();
    kernel.ring(0, false)->lost = 3;
    run_until(4500ms);
    EXPECT_THAT(said(), IsEmpty());
}

TEST_F(SilentEvents, ACounterThatAnotherHoldsWasNeverGiven) {
    open();
    kernel.ring(0, false)->never_runs = true;
    run_until(4500ms);
    EXPECT_THAT(said(), HasSubstr("cycles was never given a counter on CPUs 0 (1 of 2)"));
}

// Each core type's event is judged on its own CPUs, and its number of them is said.
TEST_F(SilentEvents, AHybridsEventIsSilentOnItsOwnCpus) {
    kernel.online = {CpuId{0}, CpuId{1}, CpuId{2}};
    kernel.pmus = {{"cpu_core", 4, {CpuId{0}}}, {"cpu_atom", 10, {CpuId{1}, CpuId{2}}}};
    open();
    kernel.ring(2, false)->silent = {0};
    run_until(4500ms);
    EXPECT_THAT(said(), HasSubstr("cpu_atom/cycles/ is enabled and counts nothing on CPUs 2 (1 of 2)"));
    EXPECT_THAT(said(), Not(HasSubstr("cpu_core")));
}

TEST_F(SilentEvents, AnotherGenerationHasItsOwnTimeToShow) {
    open();
    run_until(2500ms);
    Tuning tuning = session->tuning();
    tuning.frequency = 199;
    session->retune(tuning);
    run_until(3500ms);
    for (const CpuId cpu : kernel.online) sample_all(cpu);
    kernel.ring(0, false)->silent = {0};
    run_until(4500ms);
    EXPECT_THAT(said(), IsEmpty());
    run_until(7500ms);
    EXPECT_THAT(said(), HasSubstr("cycles"));
}

}  // namespace
}  // namespace perfvigil::collector
