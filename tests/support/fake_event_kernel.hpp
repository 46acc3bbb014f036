// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel that answers as a test says: any errno at any open or map, rings that hold what the test writes, counters
// that run with a ManualClock. Rings stay visible to the test after the session has closed them.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "collector/event_kernel.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/record_bytes.hpp"

namespace perfvigil::test {

class FakeEventKernel final : public collector::EventKernel {
public:
    // What one opened ring is and does; shared by the session's handle and the test.
    struct Ring {
        collector::RingRequest request;
        std::vector<EventId> ids;  // event-major: ids[event * threads + thread]
        std::deque<RecordBytes> records;
        RecordBytes last;  // returned by next()
        bool enabled = false;
        bool closed = false;
        bool alive = true;
        bool stuck = false;  // next() yields nothing whatever is in it
        int skipped = 0;
        std::uint64_t lost = 0;
        std::uint64_t value = 0;         // of its counters; 0: they count nanoseconds
        std::set<std::size_t> silent{};  // positions of events that count nothing
        bool never_runs = false;         // enabled, and never given a counter
        MonotonicTime enabled_at{};
        Nanoseconds enabled_before{};
        Nanoseconds frozen_at{-1};  // enabled time that no longer grows (the CPU went away)

        [[nodiscard]] bool side_band() const { return request.events.front().config == collector::kSwDummy; }
        [[nodiscard]] collector::RecordLayout layout() const {
            return collector::RecordLayout::of(request.events.front());
        }
        // A sample at `time` of the ring's event at that place.
        void write_sample(MonotonicTime time, std::int32_t pid = 1, std::size_t event = 0);
        void write_lost(MonotonicTime time, std::uint64_t count);
        void write_comm(MonotonicTime time, std::int32_t pid, std::string_view comm);
        [[nodiscard]] collector::SampleId sample_id(MonotonicTime time, std::int32_t pid) const;
    };

    FakeEventKernel(ManualClock& clock, std::string proc_root) : clock_(clock), proc_root_(std::move(proc_root)) {}

    // --- the script
    std::function<int(const collector::EventAttr&, CpuId, Tid)> on_open;  // errno for one event
    std::function<int(CpuId, std::uint64_t bytes)> on_map;                // errno for one ring
    std::map<std::string, std::int64_t, std::less<>> settings{{"perf_event_paranoid", 2},
                                                              {"perf_event_max_sample_rate", 100'000},
                                                              {"perf_event_max_stack", 127},
                                                              {"perf_event_mlock_kb", 516}};
    std::vector<CpuId> online{CpuId{0}, CpuId{1}};
    std::vector<collector::CorePmu> pmus;  // of several core types
    std::string tickless;                  // CPUs without a tick
    bool file_limit_rises = false;
    int enable_error = 0;
    collector::Waits waited;                      // since the last question
    std::vector<collector::KernelModule> loaded;  // since the last question

    // --- what happened
    std::vector<std::shared_ptr<Ring>> rings;  // in order of opening
    int sealed = 0;
    // The ring of that kind on that CPU that was opened last and is still open.
    [[nodiscard]] Ring* ring(std::uint32_t cpu, bool side_band);
    [[nodiscard]] std::size_t open_rings() const;

    int probe(const collector::EventAttr& attr, CpuId cpu, Tid thread) override;
    std::expected<std::unique_ptr<collector::EventRing>, collector::OpenFailure> open(
        const collector::RingRequest& request) override;
    void seal_descriptors() override { ++sealed; }
    bool raise_file_limit() override { return file_limit_rises; }
    std::optional<std::int64_t> setting(std::string_view name) override;
    Result<std::vector<CpuId>> online_cpus() override { return online; }
    std::vector<collector::CorePmu> core_pmus() override { return pmus; }
    std::string tickless_cpus() override { return tickless; }
    std::vector<collector::CpuTimes> cpu_times() override;
    collector::Waits waits(MonotonicTime) override { return std::exchange(waited, {}); }
    collector::HostFacts host_facts(const Clock&) override { return {}; }
    std::vector<collector::KernelModule> new_modules() override { return std::exchange(loaded, {}); }
    std::size_t page_size() override { return 4096; }
    const std::string& proc_root() override { return proc_root_; }

private:
    ManualClock& clock_;
    std::string proc_root_;
    std::uint64_t next_id_ = 1000;
};

}  // namespace perfvigil::test
