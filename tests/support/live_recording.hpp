// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a RecordingSession in real time for kernel tests, and keeps what it delivered in a form that is easy to count.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "collector/recording_session.hpp"

namespace perfvigil::test {

struct SeenSample {
    MonotonicTime time{};
    EventId id{};
    std::uint32_t event = UINT32_MAX;
    std::uint32_t cpu = 0;
    std::uint32_t generation = 0;
    std::int32_t pid = 0;
    std::int32_t tid = 0;
    std::uint64_t ip = 0;
    std::size_t frames = 0;
    std::uint16_t misc = 0;
    std::uint64_t cgroup = 0;
    bool late = false;
};

struct SeenRead {
    MonotonicTime time{};
    std::uint32_t event = UINT32_MAX;
    std::optional<CpuId> cpu;
    std::uint32_t generation = 0;
    std::uint64_t enabled = 0;
    std::uint64_t value = 0;
    std::uint64_t lost = 0;
};

class Recorded : public collector::RecordSink {
public:
    void on_record(const collector::OrderedRecord& record) override;
    void on_cut(const collector::Cut& cut) override;

    std::vector<SeenSample> samples;
    std::map<std::uint64_t, std::vector<SeenRead>> reads;  // by event id, in order
    std::vector<collector::Cut> cuts;
    std::vector<std::size_t> samples_at_cut;  // how many had been delivered before each cut
    std::map<std::uint32_t, std::uint64_t> by_type;
    struct Comm {
        MonotonicTime time{};
        std::int32_t pid = 0;
        std::int32_t tid = 0;
        bool by_exec = false;
        std::string comm;
    };
    std::vector<Comm> comms;
    std::map<std::int32_t, std::vector<std::string>> mapped;  // pid → paths
    std::map<std::uint64_t, std::string> cgroups;
    std::uint64_t without_event = 0;  // records whose id is unknown
    std::uint64_t out_of_order = 0;   // besides the READ records of a cut

private:
    MonotonicTime last_{};
};

// Starts and pumps `session` until `length` has passed, calls `finish`. `during(elapsed)` is called before each pump
// and may stop, wait or retune.
void record_for(collector::RecordingSession& session, Recorded& into, std::chrono::nanoseconds length,
                const std::function<void(std::chrono::nanoseconds elapsed)>& during = {});

// Why this machine cannot record whole CPUs; empty when it can.
[[nodiscard]] std::string why_not_recordable();

// Sum over consecutive READ records of each instance of `event` on `cpu`.
struct Truth {
    double enabled_s = 0;
    std::uint64_t value = 0;
    std::uint64_t lost = 0;
};
[[nodiscard]] Truth truth_of(const Recorded& recorded, std::uint32_t event, std::uint32_t cpu,
                             std::optional<std::uint32_t> generation = std::nullopt);

// Seconds that the hypervisor took from `cpu` between the first and the last cut.
[[nodiscard]] double stolen_s(const Recorded& recorded, std::uint32_t cpu);

}  // namespace perfvigil::test
