// SPDX-License-Identifier: GPL-2.0-or-later
// A small recording whose every record is known, in the shapes of our own sessions: two CPUs, cpu-clock and cycles and
// a side-band event, slices of a second, processes that fork, exec and exit. Plays into any sink, with the process
// table kept up to date before the sink hears of a record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/event_table.hpp"
#include "collector/host_facts.hpp"
#include "collector/processes.hpp"
#include "collector/stream.hpp"

namespace perfvigil::test {

struct StreamShape {
    unsigned slices = 3;
    unsigned samples_per_slice = 200;  // per CPU and event
    unsigned chain_depth = 20;
    std::uint64_t lost_per_slice = 0;  // told by cpu-clock's READ on CPU 1
    bool change_rate = false;          // from the second slice on the events are a second generation at half the rate
    bool exercise_processes = true;    // fork, exec, exit and a new mapping in every slice
    bool last_cut = true;
};

class CaptureStream {
public:
    explicit CaptureStream(StreamShape shape = {});

    // Everything from the start; a second call plays the same again.
    void play(collector::RecordSink& sink);
    // The slices [first, last) alone, as a capture sees them that begins within the recording.
    void play_slices(collector::RecordSink& sink, unsigned first, unsigned last);

    // Kernel samples and facts are of this host's kernel: perf looks for the symbols of the build-id it is told.
    void use_kernel_of(const collector::HostFacts& host);

    [[nodiscard]] const collector::EventTable& events() const { return events_; }
    [[nodiscard]] collector::ProcessTable& processes() { return processes_; }
    [[nodiscard]] const collector::HostFacts& host() const { return host_; }
    [[nodiscard]] std::uint64_t samples() const;  // of a whole play

    static constexpr std::uint64_t kStart = 1'000'000'000'000;  // ns
    static constexpr std::uint64_t kSlice = 1'000'000'000;

private:
    struct Owned {
        std::uint64_t time = 0;
        std::vector<std::byte> bytes;
        EventId id{};
    };
    [[nodiscard]] EventId id_of(std::uint32_t event, std::uint32_t cpu, std::uint32_t generation) const;
    void add_generation(std::uint32_t generation, std::uint64_t hertz);
    void start_records(std::vector<Owned>& out) const;
    void slice_records(unsigned slice, std::vector<Owned>& out) const;
    void process_records(unsigned slice, std::vector<Owned>& out) const;
    void sample_records(unsigned slice, std::vector<Owned>& out) const;
    void read_records(unsigned slice, std::vector<Owned>& out) const;
    [[nodiscard]] std::uint32_t generation_in(unsigned slice) const;
    void deliver(const std::vector<Owned>& records, collector::RecordSink& sink);

    StreamShape shape_;
    collector::EventTable events_;
    collector::ProcessTable processes_;
    collector::HostFacts host_;
};

// Keeps what it hears.
class KeepingSink final : public collector::RecordSink {
public:
    struct Kept {
        std::uint64_t time = 0;
        std::vector<std::byte> bytes;
        std::string event;  // empty: none
        std::uint64_t period = 0;
        bool late = false;

        friend bool operator==(const Kept&, const Kept&) = default;
    };
    explicit KeepingSink(const collector::EventTable& events) : events_(events) {}
    void on_record(const collector::OrderedRecord& record) override;
    void on_cut(const collector::Cut& cut) override { cuts.push_back(cut); }

    std::vector<Kept> records;
    std::vector<collector::Cut> cuts;

private:
    const collector::EventTable& events_;
};

}  // namespace perfvigil::test
