// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/live_recording.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "collector/recording_options.hpp"

namespace perfvigil::test {

using namespace perfvigil::collector;

void Recorded::on_record(const OrderedRecord& record) {
    const bool read = std::holds_alternative<ReadRecord>(record.record);
    if (!read) {
        if (record.time < last_) ++out_of_order;
        last_ = std::max(last_, record.time);
    }
    if (record.event == nullptr && !std::holds_alternative<OtherRecord>(record.record)) ++without_event;
    const std::uint32_t event = record.event != nullptr ? record.event->event.value : UINT32_MAX;
    const std::uint32_t generation = record.event != nullptr ? record.event->generation : UINT32_MAX;
    const auto header = peek_header(record.bytes);
    if (header) ++by_type[header->type];
    if (const auto* sample = std::get_if<SampleRecord>(&record.record)) {
        samples.push_back({record.time, sample->sample.id, event, sample->sample.cpu.value, generation,
                           sample->sample.pid.value, sample->sample.tid.value, sample->ip, sample->chain.size(),
                           sample->misc, sample->cgroup.value, record.late});
    } else if (const auto* counters = std::get_if<ReadRecord>(&record.record)) {
        const CounterValue value = counters->read[0];
        reads[value.id.value].push_back({record.time, event, record.event != nullptr ? record.event->cpu : std::nullopt,
                                         generation, counters->read.time_enabled, value.value, value.lost});
    } else if (const auto* comm = std::get_if<CommRecord>(&record.record)) {
        comms.push_back({record.time, comm->pid.value, comm->tid.value, comm->by_exec, std::string(comm->comm)});
    } else if (const auto* mmap = std::get_if<MmapRecord>(&record.record)) {
        mapped[mmap->pid.value].emplace_back(mmap->path);
    } else if (const auto* cgroup = std::get_if<CgroupRecord>(&record.record)) {
        cgroups[cgroup->id.value] = cgroup->path;
    }
}

void Recorded::on_cut(const Cut& cut) {
    cuts.push_back(cut);
    samples_at_cut.push_back(samples.size());
}

void record_for(RecordingSession& session, Recorded& into, std::chrono::nanoseconds length,
                const std::function<void(std::chrono::nanoseconds)>& during) {
    const Clock& clock = system_clock();
    ASSERT_TRUE(session.start());
    const MonotonicTime start = clock.monotonic();
    for (MonotonicTime now = start; now - start < length; now = clock.monotonic()) {
        if (during) during(now - start);
        ASSERT_TRUE(session.pump(into));
        const auto next = session.next_pump();
        if (!next) break;
        const MonotonicTime until = std::min(*next, start + length);
        std::this_thread::sleep_for(until - clock.monotonic());
    }
    ASSERT_TRUE(session.finish(into));
}

std::string why_not_recordable() {
    RecordingOptions options;
    options.events = {{"cpu-clock", kTypeSoftware, kSwCpuClock}};
    const auto session = RecordingSession::open(options, system_clock());
    return session ? "" : session.error().message;
}

Truth truth_of(const Recorded& recorded, std::uint32_t event, std::uint32_t cpu,
               std::optional<std::uint32_t> generation) {
    Truth truth;
    for (const auto& [id, reads] : recorded.reads) {
        const SeenRead& first = reads.front();
        const SeenRead& last = reads.back();
        if (first.event != event || first.cpu != CpuId{cpu}) continue;
        if (generation && first.generation != *generation) continue;
        truth.enabled_s += static_cast<double>(last.enabled - first.enabled) / 1e9;
        truth.value += last.value - first.value;
        truth.lost += last.lost - first.lost;
    }
    return truth;
}

double stolen_s(const Recorded& recorded, std::uint32_t cpu) {
    const auto steal = [cpu](const Cut& cut) {
        const auto row = std::ranges::find(cut.cpu_times, CpuId{cpu}, &CpuTimes::cpu);
        return row == cut.cpu_times.end() ? 0.0 : static_cast<double>(row->steal) / 1e9;
    };
    return recorded.cuts.empty() ? 0 : steal(recorded.cuts.back()) - steal(recorded.cuts.front());
}

}  // namespace perfvigil::test
