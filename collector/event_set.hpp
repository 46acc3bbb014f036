// SPDX-License-Identifier: GPL-2.0-or-later
// One generation of a recording's events: on each CPU a ring for samples and a ring for side-band records. Opening a
// second generation beside the first is how rates, ring sizes and depth change without a gap.
// Knows rings and counters; nothing of time order, slices or sinks.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/event_kernel.hpp"
#include "collector/event_table.hpp"
#include "collector/negotiation.hpp"
#include "collector/record_encoder.hpp"

namespace perfvigil::collector {

enum class RingKind : std::uint8_t { kSamples, kSideBand };

// Registers the plan's logical events: sampling events in their order, then the dummy.
[[nodiscard]] std::vector<EventIndex> add_events(EventTable& table, const RecordingPlan& plan,
                                                 const RecordingOptions& options);

// A CPU that could not be opened.
struct CpuOpenFailure {
    CpuId cpu{};
    std::string what;  // event name, or "ring"
    OpenFailure failure;
};

// An event that one CPU does not have although others do (hybrid processors, a counter that is taken).
struct MissingEvent {
    CpuId cpu{};
    std::string event;
    int error_number = 0;
};

// One event of one thread (or of all) on one CPU.
struct OpenInstance {
    EventId id{};
    EventIndex event{};
    RecordLayout layout;
    CpuId cpu{};
    Pid pid{-1};  // −1 and 0: whole CPU
    Tid tid{0};
    RingKind kind = RingKind::kSamples;
};

class CpuRings {
public:
    [[nodiscard]] CpuId cpu() const { return cpu_; }
    [[nodiscard]] EventRing& ring(RingKind kind) { return kind == RingKind::kSamples ? *samples_ : *side_band_; }
    [[nodiscard]] const std::vector<OpenInstance>& instances() const { return instances_; }
    // The counters of instances()[i]; nullopt where the kernel does not answer.
    [[nodiscard]] std::optional<Counter> read(std::size_t i);
    // What was read of it last, for the caller to compare with and replace.
    [[nodiscard]] Counter& last(std::size_t i) { return last_[i]; }
    // Records taken out of a ring and lost to it, for the caller to count.
    struct Traffic {
        std::uint64_t drained = 0;
        std::uint64_t lost = 0;
    };
    [[nodiscard]] Traffic& traffic(RingKind kind) { return traffic_[static_cast<std::size_t>(kind)]; }
    // Whether instances()[i] ever wrote a sample. Its first one is for the caller to note, until none is awaited.
    [[nodiscard]] bool has_sampled(std::size_t i) const { return sampled_[i]; }
    [[nodiscard]] bool awaits_samples() const { return awaited_ > 0; }
    void note_sample(EventId id);

private:
    friend class EventSet;
    struct Place {  // where instances_[i] lives
        std::size_t event = 0;
        std::size_t thread = 0;
    };
    CpuId cpu_{};
    std::unique_ptr<EventRing> samples_;
    std::unique_ptr<EventRing> side_band_;
    std::vector<OpenInstance> instances_;
    std::vector<Place> places_;
    std::vector<Counter> last_;
    std::array<Traffic, 2> traffic_{};
    std::vector<bool> sampled_;
    std::size_t awaited_ = 0;  // instances of a whole CPU that have not sampled yet; a task may never run there
};

class EventSet {
public:
    EventSet(EventKernel& kernel, EventTable& table, RecordingOptions options, RecordingPlan plan,
             std::vector<EventIndex> indices, std::uint32_t generation);
    // Closes the rings and takes its instances out of the table.
    ~EventSet();
    EventSet(EventSet&&) = delete;
    EventSet& operator=(EventSet&&) = delete;

    // Opens one more CPU, disabled; its instances are in the table afterwards.
    [[nodiscard]] std::expected<void, CpuOpenFailure> open_cpu(CpuId cpu);
    void close_cpu(CpuId cpu);
    // 0 or errno. The side-band rings first, so that nothing is sampled whose start went unseen.
    [[nodiscard]] int enable();
    [[nodiscard]] int enable_cpu(CpuId cpu);
    void disable();

    [[nodiscard]] std::vector<std::unique_ptr<CpuRings>>& cpus() { return cpus_; }
    [[nodiscard]] const std::vector<std::unique_ptr<CpuRings>>& cpus() const { return cpus_; }
    [[nodiscard]] bool has(CpuId cpu) const;
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    [[nodiscard]] const RecordingPlan& plan() const { return plan_; }
    [[nodiscard]] const std::vector<MissingEvent>& missing() const { return missing_; }
    [[nodiscard]] std::uint64_t bytes() const;
    [[nodiscard]] RecordLayout layout(RingKind kind) const;
    // False when everything that the target's threads were has ended.
    [[nodiscard]] bool alive();

private:
    [[nodiscard]] std::expected<std::vector<std::size_t>, CpuOpenFailure> open_samples(CpuRings& rings);
    [[nodiscard]] std::expected<void, CpuOpenFailure> open_side_band(CpuRings& rings);
    void register_instances(CpuRings& rings, RingKind kind, const std::vector<std::size_t>& events);
    [[nodiscard]] EventAttr attr_of(std::size_t event) const;
    [[nodiscard]] int enable(CpuRings& rings, RingKind kind);

    EventKernel& kernel_;
    EventTable& table_;
    RecordingOptions options_;
    RecordingPlan plan_;
    std::vector<EventIndex> indices_;
    std::uint32_t generation_;
    std::vector<std::unique_ptr<CpuRings>> cpus_;
    std::vector<MissingEvent> missing_;
};

}  // namespace perfvigil::collector
