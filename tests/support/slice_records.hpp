// SPDX-License-Identifier: GPL-2.0-or-later
// Records by hand for a slice builder: cycles (event 0), cpu-clock (event 1) and side-band (event 2) on CPU 0.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/slice/builder.hpp"
#include "tests/support/record_bytes.hpp"
#include "tests/support/slice_collector.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::test {

inline constexpr Nanoseconds kPeriod{10101010};
inline constexpr EventId kClockOnCpu0{10};
inline constexpr EventId kCyclesOnCpu0{20};
inline constexpr EventId kSideBand{30};

class SliceRecords : public testing::Test {
protected:
    SliceRecords() {
        add_event("cycles", cycles_attr(), collector::EventRole::kSampling);
        add_event("cpu-clock", cpu_clock_attr(), collector::EventRole::kSampling);
        add_event("dummy:HG", side_band_attr(), collector::EventRole::kSideBand);
        add_instance(kCyclesOnCpu0, 0, 0, {});
        add_instance(kClockOnCpu0, 1, 0, kPeriod);
        add_instance(kSideBand, 2, 0, {});
    }
    void add_event(std::string name, collector::EventAttr attr, collector::EventRole role) {
        table.add_event({std::move(name), role, attr});
    }
    void add_instance(EventId id, std::uint32_t event, std::uint32_t generation, Nanoseconds period,
                      std::optional<CpuId> whole_cpu = CpuId{0}) {
        collector::EventInstance instance;
        instance.event = {event};
        instance.cpu = whole_cpu;
        instance.generation = generation;
        instance.nominal_period = period;
        instance.layout = collector::RecordLayout::of(table.event({event}).attr);
        table.add_instance(id, instance);
    }
    SliceCollector& sink() {
        if (!collector_) {
            collector_ =
                std::make_unique<SliceCollector>(table, analyzer::KernelText(SyntheticCode::text_ranges()), limits);
        }
        return *collector_;
    }
    void give(const RecordBytes& bytes, EventId id, Nanoseconds time, bool late = false) {
        const collector::EventInstance* instance = table.find(id);
        const auto record = collector::decode_record(bytes, instance->layout);
        ASSERT_TRUE(record);
        sink().on_record({MonotonicTime(time), instance, *record, bytes, late});
    }
    const collector::RecordLayout& layout(EventId id) { return table.find(id)->layout; }
    collector::SampleId origin(EventId id, Nanoseconds time, Pid pid = Pid{5}) {
        collector::SampleId made;
        made.pid = pid;
        made.tid = Tid{pid.value};
        made.time = MonotonicTime(time);
        made.id = id;
        made.cpu = cpu;
        return made;
    }
    void sample(Nanoseconds time, EventId id = kClockOnCpu0, std::uint64_t period = 0, bool late = false) {
        SampleFields fields;
        fields.id = origin(id, time);
        fields.period = period;
        fields.chain = {collector::kContextUser, 0x1010};
        fields.ip = 0x1010;
        give(record_bytes(layout(id), fields), id, time, late);
    }
    void read(Nanoseconds time, EventId id, Nanoseconds enabled, std::uint64_t value = 0, std::uint64_t lost = 0,
              Nanoseconds running = Nanoseconds(-1)) {
        ReadRecordFields fields;
        fields.id = origin(id, time);
        fields.pid = Pid{-1};
        fields.read = {.time_enabled = static_cast<std::uint64_t>(enabled.count()),
                       .time_running = static_cast<std::uint64_t>((running.count() < 0 ? enabled : running).count()),
                       .members = {{value, id, lost}}};
        give(record_bytes(layout(id), fields), id, time);
    }
    void throttle(Nanoseconds time, bool begins, EventId id = kClockOnCpu0) {
        collector::ThrottleRecord record{.sample = origin(id, time), .throttled = begins, .time = MonotonicTime(time)};
        record.id = id;
        give(record_bytes(layout(id), record), id, time);
    }
    void lost(Nanoseconds time, EventId id, std::uint64_t count) {
        give(record_bytes(layout(id), collector::LostRecord{.sample = origin(id, time), .id = id, .lost = count}), id,
             time);
    }
    void finished_init(Nanoseconds time) {
        collector::OtherRecord record{.sample = origin(kSideBand, time)};
        record.type = collector::kRecordFinishedInit;
        give(record_bytes(layout(kSideBand), record), kSideBand, time);
    }
    void cut(Nanoseconds time, bool last = false, std::vector<collector::CpuTimes> times = {},
             std::uint64_t lost_side_band = 0) {
        collector::Cut made;
        made.time = MonotonicTime(time);
        made.cpu_times = std::move(times);
        made.last = last;
        made.lost_side_band = lost_side_band;
        sink().on_cut(made);
    }
    const analyzer::Slice& slice(std::size_t i) { return *sink().slices.at(i); }
    const analyzer::CpuSlice& cpu0(std::size_t i) { return slice(i).cpus.at(0); }

    collector::EventTable table;
    analyzer::SliceLimits limits;
    CpuId cpu{0};

private:
    std::unique_ptr<SliceCollector> collector_;
};

}  // namespace perfvigil::test
