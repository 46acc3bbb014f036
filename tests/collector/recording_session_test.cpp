// SPDX-License-Identifier: GPL-2.0-or-later
// A session against a scripted kernel: what is delivered in which order, when slices end, and what happens when rates
// change, CPUs come and go, side-band records are lost, or we come late.
#include "collector/recording_session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "collector/negotiation.hpp"
#include "tests/support/fake_event_kernel.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using namespace std::chrono_literals;

// What the sink heard, as short words: "S@250" a sample, "R1000" a READ of id 1000, "C7:name" a COMM, "cut@1000".
// Times are milliseconds since the session's start.
class Heard final : public RecordSink {
public:
    explicit Heard(MonotonicTime start) : start_(start) {}
    void on_record(const OrderedRecord& record) override {
        if (record.event == nullptr && !std::holds_alternative<OtherRecord>(record.record)) ++without_event;
        if (record.late) ++late;
        if (std::holds_alternative<SampleRecord>(record.record)) {
            words.push_back("S@" + at(record.time));
            generations.push_back(record.event != nullptr ? record.event->generation : 99);
        } else if (const auto* read = std::get_if<ReadRecord>(&record.record)) {
            words.push_back("R" + std::to_string(read->sample.id.value));
            reads.push_back({read->pid, read->tid, read->read.time_enabled, record.time});
        } else if (const auto* comm = std::get_if<CommRecord>(&record.record)) {
            words.push_back("C" + std::to_string(comm->pid.value) + ":" + std::string(comm->comm));
            comm_times.push_back(record.time);
        } else if (const auto* task = std::get_if<TaskRecord>(&record.record)) {
            words.push_back("F" + std::to_string(task->pid.value));
        } else if (const auto* other = std::get_if<OtherRecord>(&record.record)) {
            if (other->type == kRecordFinishedInit) words.push_back("init");
        }
    }
    void on_cut(const Cut& cut) override {
        words.push_back(std::string(cut.last ? "last@" : "cut@") + at(cut.time));
        cuts.push_back(cut);
    }
    [[nodiscard]] std::vector<std::string> take() { return std::exchange(words, {}); }

    std::vector<std::string> words;
    std::vector<std::uint32_t> generations;
    struct Read {
        Pid pid{};
        Tid tid{};
        std::uint64_t enabled = 0;
        MonotonicTime time{};
    };
    std::vector<Read> reads;
    std::vector<MonotonicTime> comm_times;
    std::vector<Cut> cuts;
    int without_event = 0;
    int late = 0;

private:
    [[nodiscard]] std::string at(MonotonicTime time) const { return std::to_string((time - start_) / 1ms); }
    MonotonicTime start_;
};

using Words = std::vector<std::string>;

bool has(const Words& words, std::string_view word) { return std::ranges::find(words, word) != words.end(); }

class RecordingSessionTest : public testing::Test {
protected:
    RecordingSessionTest() {
        options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
        options.slice = 1s;
        kernel.online = {CpuId{0}};
    }
    void open_and_start() {
        auto opened = RecordingSession::open(options, clock, kernel);
        ASSERT_TRUE(opened) << opened.error().message;
        session = std::move(*opened);
        ASSERT_TRUE(session->start());
    }
    void add_process(int pid, const std::string& comm) {
        const std::string folder = std::to_string(pid);
        proc.write(folder + "/comm", comm + "\n");
        proc.write(folder + "/stat", folder + " (" + comm + ") S 1 0\n");
    }
    void pump_at(Nanoseconds since_start) {
        clock.advance(start + since_start - clock.monotonic());
        ASSERT_TRUE(session->pump(heard));
    }
    // Comes whenever it is asked to, until then.
    void run_until(Nanoseconds since_start) {
        for (auto next = session->next_pump(); next && *next <= start + since_start; next = session->next_pump()) {
            clock.advance(std::max(*next, clock.monotonic()) - clock.monotonic());
            ASSERT_TRUE(session->pump(heard));
        }
        clock.advance(start + since_start - clock.monotonic());
    }
    [[nodiscard]] MonotonicTime at(Nanoseconds since_start) const { return start + since_start; }
    [[nodiscard]] std::string why(std::string_view reason) const {
        const auto entry = std::ranges::find(session->degraded(), reason, &Degraded::reason);
        return entry == session->degraded().end() ? "" : entry->detail;
    }

    test::TempFolder proc;
    test::ManualClock clock;
    MonotonicTime start = clock.monotonic();
    test::FakeEventKernel kernel{clock, proc.path()};
    RecordingOptions options;
    std::unique_ptr<RecordingSession> session;
    Heard heard{start};
};

TEST_F(RecordingSessionTest, ASliceFromItsBaselineToItsCut) {
    add_process(7, "old");
    open_and_start();
    auto* ring = kernel.ring(0, false);
    ring->write_sample(at(300ms));
    ring->write_sample(at(200ms) + 1ns);
    pump_at(350ms);
    // What ran already comes first, then the counters at the start (clock, dummy), then samples in order of time.
    EXPECT_EQ(heard.take(), (Words{"F7", "C7:old", "init", "R1000", "R1001", "S@200", "S@300"}));
    ring->write_sample(at(999ms));
    ring->write_sample(at(1001ms));
    kernel.waited = {{{CpuId{0}, 17ms}}, {{"/a.service", 10, 3, 200ms}}};
    pump_at(1000ms);
    EXPECT_EQ(heard.take(), Words{}) << "the slice waits for what is still being written";
    EXPECT_EQ(*session->next_pump(), at(1021ms));
    ring->write_sample(at(998ms));
    pump_at(1021ms);
    EXPECT_EQ(heard.take(), (Words{"S@998", "S@999", "R1000", "R1001", "cut@1000"}));
    ASSERT_EQ(heard.cuts.size(), 1U);
    EXPECT_EQ(heard.cuts[0].wall.time_since_epoch() % 1s, 0ns);
    ASSERT_EQ(heard.cuts[0].cpu_times.size(), 1U);
    EXPECT_EQ(heard.cuts[0].cpu_times[0].idle, to_ns(at(1000ms))) << "read with the counters";
    EXPECT_EQ(heard.cuts[0].waits, (Waits{{{CpuId{0}, 17ms}}, {{"/a.service", 10, 3, 200ms}}}));
    pump_at(1100ms);
    EXPECT_EQ(heard.take(), Words{"S@1001"});
    EXPECT_EQ(heard.late, 0);
    EXPECT_EQ(heard.without_event, 0);
    EXPECT_EQ(session->counters().samples, 5U);
}

// What is sampled by frequency would give tickless CPUs their tick back.
TEST_F(RecordingSessionTest, OnAHostWithTicklessCpusCyclesAreLeftOutAndSaid) {
    options.events = RecordingOptions{}.events;
    kernel.tickless = "2-7";
    open_and_start();
    ASSERT_EQ(session->events().events().size(), 2U);
    EXPECT_EQ(session->events().events()[0].name, "cpu-clock");
    EXPECT_EQ(session->events().events()[1].role, EventRole::kSideBand);
    EXPECT_NE(why("nohz_full").find("2-7"), std::string::npos);
    EXPECT_EQ(why("no_pmu"), "");
    EXPECT_EQ(session->host().degraded, session->degraded()) << "as captures keep it";
    for (const auto& ring : kernel.rings) {
        for (const auto& attr : ring->request.events) EXPECT_EQ(attr.type, kTypeSoftware);
    }
    // Unless they were asked for by name.
    options.ticks = Ticks::kMayTurnOn;
    open_and_start();
    EXPECT_EQ(session->events().events()[0].name, "cycles");
    EXPECT_EQ(why("nohz_full"), "");
}

TEST_F(RecordingSessionTest, CodeThatTheKernelHadMadeIsToldFirst) {
    proc.write("kallsyms", "ffffffff81000000 T _text\nffffffffc0200000 t bpf_prog_1_a\t[bpf]\n");
    struct Listener final : RecordSink {
        void on_record(const OrderedRecord& record) override {
            if (const auto* symbol = std::get_if<KsymbolRecord>(&record.record)) names.emplace_back(symbol->name);
        }
        void on_cut(const Cut&) override {}
        std::vector<std::string> names;
    } listener;
    open_and_start();
    clock.advance(50ms);
    ASSERT_TRUE(session->pump(listener));
    EXPECT_EQ(listener.names, std::vector<std::string>{"bpf_prog_1_a"});
}

TEST_F(RecordingSessionTest, ModulesThatCameAreToldWithTheCut) {
    open_and_start();
    kernel.loaded = {{.name = "loop", .path = "[loop]", .start = 0xffffffffc0500000, .size = 4096, .build_id = {}}};
    pump_at(1000ms);
    pump_at(1021ms);
    pump_at(2000ms);
    pump_at(2021ms);
    ASSERT_EQ(heard.cuts.size(), 2U);
    ASSERT_EQ(heard.cuts[0].modules.size(), 1U);
    EXPECT_EQ(heard.cuts[0].modules[0].name, "loop");
    EXPECT_TRUE(heard.cuts[1].modules.empty());
}

TEST_F(RecordingSessionTest, CountersAreReadOncePerCut) {
    open_and_start();
    kernel.ring(0, false)->value = 5;
    run_until(1500ms);
    kernel.ring(0, false)->value = 9;
    kernel.ring(0, false)->lost = 3;
    run_until(2500ms);
    ASSERT_EQ(heard.reads.size(), 6U);
    EXPECT_EQ(heard.reads[0].enabled, 0U);
    EXPECT_EQ(heard.reads[2].enabled, 1'000'000'000U);
    EXPECT_EQ(heard.reads[4].enabled, 2'000'000'000U);
    EXPECT_EQ(heard.reads[4].time, at(2s));
    EXPECT_EQ(heard.reads[0].pid, Pid{-1});
    EXPECT_EQ(heard.reads[0].tid, Tid{0});
    EXPECT_EQ(heard.cuts.size(), 2U);
}

TEST_F(RecordingSessionTest, WhoComesLateCutsWhereTheCountersWereRead) {
    open_and_start();
    kernel.ring(0, false)->write_sample(at(2500ms));
    pump_at(3700ms);
    pump_at(3721ms);
    EXPECT_EQ(heard.take(), (Words{"init", "R1000", "R1001", "S@2500", "R1000", "R1001", "cut@3700"}));
    EXPECT_EQ(heard.reads.back().enabled, 3'700'000'000U);
    run_until(4100ms);
    EXPECT_EQ(heard.cuts.back().time, at(4s)) << "and is back on the grid";
}

TEST_F(RecordingSessionTest, RecordsBehindACutAreLate) {
    open_and_start();
    run_until(1050ms);
    kernel.ring(0, false)->write_sample(at(999ms));
    run_until(1300ms);
    EXPECT_EQ(heard.late, 1);
    EXPECT_EQ(session->counters().late_records, 1U);
    EXPECT_EQ(heard.words.back(), "S@999");
}

TEST_F(RecordingSessionTest, AStepOfWallTimeEndsTheSlice) {
    open_and_start();
    run_until(400ms);
    clock.set_wall(clock.wall() + 1h + 300ms);
    run_until(450ms);
    run_until(600ms);
    ASSERT_EQ(heard.cuts.size(), 1U);
    EXPECT_TRUE(heard.cuts[0].clock_stepped);
    run_until(3000ms);
    ASSERT_GE(heard.cuts.size(), 3U);
    EXPECT_FALSE(heard.cuts[1].clock_stepped);
    EXPECT_EQ(heard.cuts[1].wall.time_since_epoch() % 1s, 0ns) << "aligned to the new time";
}

TEST_F(RecordingSessionTest, TheEndHasEverything) {
    open_and_start();
    run_until(1010ms);  // a cut is pending
    kernel.ring(0, false)->write_sample(at(1005ms));
    ASSERT_TRUE(session->finish(heard));
    EXPECT_EQ(heard.take(),
              (Words{"init", "R1000", "R1001", "R1000", "R1001", "cut@1000", "S@1005", "R1000", "R1001", "last@1010"}));
    EXPECT_FALSE(kernel.ring(0, false)->enabled);
    EXPECT_FALSE(session->next_pump().has_value());
    EXPECT_EQ(session->events().instances().size(), 2U) << "a file is finished after its session";
    ASSERT_TRUE(session->finish(heard));
    EXPECT_TRUE(heard.take().empty()) << "once";
    session.reset();
    EXPECT_EQ(kernel.open_rings(), 0U);
}

TEST_F(RecordingSessionTest, AnotherRateBeginsAtACut) {
    open_and_start();
    Tuning tuning = session->tuning();
    tuning.frequency = 999;
    session->retune(tuning);
    run_until(450ms);
    EXPECT_EQ(kernel.open_rings(), 2U) << "not before it is needed";
    run_until(600ms);
    ASSERT_EQ(kernel.open_rings(), 4U);
    EXPECT_EQ(session->counters().ring_bytes, 2 * ring_bytes(tuning, 1, 4096));
    auto& old_ring = *kernel.rings[0];
    auto& new_ring = *kernel.rings[2];
    EXPECT_TRUE(new_ring.enabled);
    EXPECT_EQ(new_ring.request.events[0].sample_period_or_freq, 999U);
    for (const auto time : {900ms, 1001ms}) {
        old_ring.write_sample(at(time));
        new_ring.write_sample(at(time));
    }
    run_until(1200ms);
    EXPECT_EQ(heard.take(),
              (Words{"init", "R1000", "R1001", "S@900", "R1000", "R1001", "R1002", "R1003", "cut@1000", "S@1001"}));
    EXPECT_EQ(heard.generations, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(session->counters().duplicate_samples, 2U);
    EXPECT_EQ(session->counters().unknown_ids, 0U);
    EXPECT_TRUE(old_ring.closed);
    EXPECT_EQ(session->tuning().frequency, 999U);
    EXPECT_EQ(session->events().instances().size(), 2U);
    const EventInstance* instance = session->events().find(EventId{1002});
    ASSERT_NE(instance, nullptr);
    EXPECT_EQ(instance->nominal_period, Nanoseconds(1001001));
    EXPECT_EQ(instance->event.value, 0U) << "the same logical event";
    // Another change is another generation.
    tuning.frequency = 99;
    session->retune(tuning);
    run_until(2200ms);
    EXPECT_EQ(session->tuning().frequency, 99U);
    EXPECT_EQ(heard.cuts.size(), 2U);
    // The same again is none.
    session->retune(session->tuning());
    run_until(3200ms);
    EXPECT_EQ(kernel.rings.size(), 6U);
}

TEST_F(RecordingSessionTest, ARefusedChangeLeavesEverythingAsItWas) {
    open_and_start();
    Tuning tuning = session->tuning();
    tuning.frequency = 999;
    kernel.on_open = [](const EventAttr&, CpuId, Tid) { return EMFILE; };
    session->retune(tuning);
    run_until(1200ms);
    EXPECT_EQ(session->tuning().frequency, 99U);
    EXPECT_EQ(kernel.open_rings(), 2U);
    EXPECT_TRUE(why("retune_failed").contains("RLIMIT_NOFILE")) << why("retune_failed");
    kernel.on_open = {};
    kernel.on_map = [](CpuId, std::uint64_t) { return EPERM; };
    session->retune(tuning);
    run_until(2200ms);
    EXPECT_TRUE(why("retune_failed").contains("perf_event_mlock_kb")) << why("retune_failed");
    kernel.on_map = {};
    kernel.enable_error = EIO;
    session->retune(tuning);
    run_until(3200ms);
    EXPECT_TRUE(why("retune_failed").contains("enabling")) << why("retune_failed");
    kernel.enable_error = 0;
    session->retune(tuning);
    run_until(3900ms);
    EXPECT_TRUE(why("retune_failed").empty()) << "it is possible again";
    EXPECT_EQ(heard.cuts.size(), 3U);
    EXPECT_EQ(session->counters().duplicate_samples, 0U);
}

TEST_F(RecordingSessionTest, LostSideBandRecordsAreReadAgain) {
    add_process(7, "before");
    options.tuning.side_band_ring_bytes = 32U << 10;
    open_and_start();
    run_until(300ms);
    add_process(7, "after");
    auto* ring = kernel.ring(0, true);
    ring->write_lost(at(310ms), 12);
    ring->lost = 12;
    run_until(700ms);
    const Words words = heard.take();
    EXPECT_TRUE(has(words, "C7:after"));
    EXPECT_EQ(words.back(), "init");
    EXPECT_EQ(session->counters().lost_side_band_records, 12U);
    EXPECT_EQ(session->counters().resyncs, 1U);
    EXPECT_GE(heard.comm_times.back(), at(310ms)) << "as of when it was read, not of the start";
    run_until(2100ms);
    ASSERT_EQ(heard.cuts.size(), 2U);
    EXPECT_EQ(heard.cuts[0].lost_side_band, 12U);
    EXPECT_EQ(heard.cuts[1].lost_side_band, 0U);
    EXPECT_EQ(session->tuning().side_band_ring_bytes, 64U << 10) << "the ring that lost grows";
    EXPECT_EQ(session->tuning().sample_ring_bytes, 512U << 10);
    EXPECT_EQ(heard.without_event, 0);
}

TEST_F(RecordingSessionTest, ALossThatNoRecordTellsOfShowsInTheCounters) {
    open_and_start();
    run_until(300ms);
    kernel.ring(0, true)->lost = 5;
    run_until(1300ms);
    ASSERT_EQ(heard.cuts.size(), 1U);
    EXPECT_EQ(heard.cuts[0].lost_side_band, 5U);
    EXPECT_EQ(session->counters().resyncs, 1U);
}

TEST_F(RecordingSessionTest, WithoutLostCountsTheRingsSpeak) {
    kernel.on_open = [](const EventAttr& attr, CpuId, Tid) { return (attr.read_format & kReadLost) != 0 ? EINVAL : 0; };
    open_and_start();
    EXPECT_FALSE(why("no_lost_counts").empty());
    kernel.ring(0, true)->write_lost(at(10ms), 4);
    kernel.ring(0, false)->write_lost(at(10ms), 7);
    run_until(1200ms);
    ASSERT_EQ(heard.cuts.size(), 1U);
    EXPECT_EQ(heard.cuts[0].lost_side_band, 4U);
    EXPECT_EQ(session->counters().lost_sample_records, 7U);
}

TEST_F(RecordingSessionTest, CpusComeAndGo) {
    kernel.online = {CpuId{0}, CpuId{1}};
    open_and_start();
    run_until(500ms);
    (void)heard.take();
    kernel.ring(1, false)->write_sample(at(500ms));
    kernel.online = {CpuId{0}};
    run_until(1500ms);
    EXPECT_EQ(session->cpus(), std::vector<CpuId>{CpuId{0}});
    EXPECT_EQ(session->counters().cpus_gone, 1U);
    EXPECT_TRUE(session->degraded().empty()) << "a CPU that is not there is not missed";
    EXPECT_EQ(kernel.open_rings(), 2U);
    const Words words = heard.take();
    EXPECT_TRUE(has(words, "S@500")) << "what it still had is delivered";
    EXPECT_EQ(session->events().instances().size(), 2U);
    kernel.online = {CpuId{0}, CpuId{1}};
    run_until(2500ms);
    EXPECT_EQ(session->cpus().size(), 2U);
    EXPECT_EQ(session->counters().cpus_back, 1U);
    ASSERT_NE(kernel.ring(1, false), nullptr);
    EXPECT_TRUE(kernel.ring(1, false)->enabled);
    kernel.ring(1, false)->write_sample(at(2450ms));
    run_until(2700ms);
    EXPECT_TRUE(has(heard.words, "S@2450"));
    EXPECT_EQ(heard.without_event, 0);
    EXPECT_TRUE(session->degraded().empty());
}

// What is missing is said as of now, not of the start.
TEST_F(RecordingSessionTest, AnEventThatACpuLacksAfterItsReturnIsNamedAsLongAsItDoes) {
    options.events = {{"cycles", kTypeHardware, kHwCpuCycles}, {"cpu-clock", kTypeSoftware, kSwCpuClock}};
    kernel.online = {CpuId{0}, CpuId{1}};
    open_and_start();
    EXPECT_TRUE(why("event_missing").empty());
    kernel.online = {CpuId{0}};
    run_until(1500ms);
    kernel.on_open = [](const EventAttr& attr, CpuId cpu, Tid) {
        return attr.type == kTypeHardware && cpu == CpuId{1} ? EBUSY : 0;
    };
    kernel.online = {CpuId{0}, CpuId{1}};
    run_until(2500ms);
    EXPECT_EQ(session->cpus().size(), 2U);
    EXPECT_TRUE(why("event_missing").contains("cycles could not be opened on 1 of 2 CPUs (1)")) << why("event_missing");
    kernel.online = {CpuId{0}};
    run_until(4s);
    EXPECT_TRUE(why("event_missing").empty()) << why("event_missing");
    kernel.on_open = {};
    kernel.online = {CpuId{0}, CpuId{1}};
    run_until(5500ms);
    EXPECT_EQ(session->cpus().size(), 2U);
    EXPECT_TRUE(why("event_missing").empty()) << why("event_missing");
}

TEST_F(RecordingSessionTest, ACpuThatWasAwayBetweenTwoLooksIsOpenedAnew) {
    kernel.online = {CpuId{0}, CpuId{1}};
    open_and_start();
    run_until(1500ms);
    auto* before = kernel.ring(1, false);
    for (const bool side_band : {false, true}) kernel.ring(1, side_band)->frozen_at = 1s;  // as of the first cut
    run_until(4500ms);
    EXPECT_TRUE(before->closed);
    EXPECT_EQ(session->counters().cpus_gone, 1U);
    EXPECT_EQ(session->counters().cpus_back, 1U);
    EXPECT_EQ(session->cpus().size(), 2U);
}

TEST_F(RecordingSessionTest, ACpuListWaitsForItsCpus) {
    options.cpus = {CpuId{0}, CpuId{5}};
    open_and_start();
    EXPECT_EQ(session->cpus(), std::vector<CpuId>{CpuId{0}});
    EXPECT_TRUE(why("cpu_offline").contains("cpu 5")) << why("cpu_offline");
    kernel.online = {CpuId{0}, CpuId{1}, CpuId{5}};
    run_until(1500ms);
    EXPECT_EQ(session->cpus(), (std::vector<CpuId>{CpuId{0}, CpuId{5}})) << "1 was not asked for";
    EXPECT_TRUE(why("cpu_offline").empty()) << why("cpu_offline");
    kernel.online = {CpuId{0}, CpuId{1}};
    run_until(3500ms);
    EXPECT_TRUE(why("cpu_offline").contains("cpu 5")) << "asked for and gone again";
}

TEST_F(RecordingSessionTest, CpusThatAreLeftOutStayOut) {
    options.left_out = {CpuId{1}};
    kernel.online = {CpuId{0}, CpuId{1}};
    open_and_start();
    EXPECT_EQ(session->cpus(), std::vector<CpuId>{CpuId{0}});
    kernel.online = {CpuId{0}, CpuId{1}, CpuId{2}};
    run_until(1500ms);
    EXPECT_EQ(session->cpus(), (std::vector<CpuId>{CpuId{0}, CpuId{2}}));
    EXPECT_TRUE(session->degraded().empty()) << "none is missed";
}

TEST_F(RecordingSessionTest, ACpuThatCannotBeOpenedIsNamed) {
    open_and_start();
    kernel.online = {CpuId{0}, CpuId{1}};
    kernel.on_open = [](const EventAttr&, CpuId cpu, Tid) { return cpu == CpuId{1} ? EMFILE : 0; };
    run_until(2500ms);
    EXPECT_EQ(session->cpus(), std::vector<CpuId>{CpuId{0}});
    EXPECT_TRUE(why("cpu_not_recorded").contains("cpu 1")) << why("cpu_not_recorded");
    EXPECT_EQ(session->counters().cpus_back, 0U);
    kernel.on_open = {};
    run_until(3500ms);
    EXPECT_EQ(session->cpus().size(), 2U);
    EXPECT_TRUE(why("cpu_not_recorded").empty()) << why("cpu_not_recorded");
}

TEST_F(RecordingSessionTest, ARingThatCannotBeReadIsPassedOver) {
    open_and_start();
    run_until(500ms);
    auto* ring = kernel.ring(0, false);
    ring->stuck = true;
    ring->lost = 50;
    run_until(1200ms);
    EXPECT_EQ(ring->skipped, 1);
    EXPECT_EQ(session->counters().malformed_records, 1U);
    // Losing while yielding is not being stuck.
    ring->lost = 90;
    ring->write_sample(at(1300ms));
    run_until(2200ms);
    EXPECT_EQ(ring->skipped, 1);
}

TEST_F(RecordingSessionTest, ARecordingOfTasksEndsWithThem) {
    proc.write("10/task/10/comm", "x\n");
    add_process(10, "x");
    options.target = Processes{{Pid{10}}};
    open_and_start();
    run_until(3s);
    EXPECT_TRUE(session->next_pump().has_value());
    for (const auto& ring : kernel.rings) ring->alive = false;
    run_until(5s);
    EXPECT_FALSE(session->next_pump().has_value());
    ASSERT_TRUE(session->finish(heard));
    EXPECT_TRUE(heard.cuts.back().last);
}

TEST_F(RecordingSessionTest, FullRingsAreReadMoreOften) {
    options.tuning.sample_ring_bytes = 32U << 10;
    open_and_start();
    pump_at(100ms);
    EXPECT_EQ(*session->next_pump(), at(200ms));
    for (int i = 0; i < 200; ++i) kernel.ring(0, false)->write_sample(at(100ms + i * 1us));  // over half of it
    pump_at(200ms);
    EXPECT_LT(*session->next_pump(), at(260ms));
    EXPECT_GE(*session->next_pump(), at(205ms));
    pump_at(260ms);
    EXPECT_EQ(*session->next_pump(), at(360ms));
}

TEST_F(RecordingSessionTest, WhatCannotBeginSaysWhy) {
    struct Case {
        void (*change)(RecordingOptions&);
        const char* words;
    };
    const Case cases[] = {
        {[](RecordingOptions& o) { o.events.clear(); }, "no event"},
        {[](RecordingOptions& o) { o.tuning.frequency = 0; }, "frequency of 0"},
        {[](RecordingOptions& o) { o.slice = 1ms; }, "at least 100 ms"},
        {[](RecordingOptions& o) { o.drain_interval = 0ms; }, "drain interval"},
        {[](RecordingOptions& o) { o.cpus = {CpuId{9}}; }, "none of the CPUs"},
        {[](RecordingOptions& o) { o.target = Processes{{Pid{4711}}}; }, "process 4711 does not exist"},
    };
    for (const Case& c : cases) {
        RecordingOptions changed = options;
        c.change(changed);
        const auto refused = RecordingSession::open(changed, clock, kernel);
        ASSERT_FALSE(refused) << c.words;
        EXPECT_TRUE(refused.error().message.contains(c.words)) << refused.error().message;
    }
    kernel.enable_error = EIO;
    auto opened = RecordingSession::open(options, clock, kernel);
    ASSERT_TRUE(opened);
    EXPECT_EQ((*opened)->start().error().message, "enabling the events: Input/output error");
}

TEST_F(RecordingSessionTest, PumpingBeforeTheStartIsNothing) {
    auto opened = RecordingSession::open(options, clock, kernel);
    ASSERT_TRUE(opened);
    EXPECT_FALSE((*opened)->next_pump().has_value());
    ASSERT_TRUE((*opened)->pump(heard));
    ASSERT_TRUE((*opened)->finish(heard));
    EXPECT_TRUE(heard.words.empty());
}

}  // namespace
}  // namespace perfvigil::collector
