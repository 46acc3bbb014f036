// SPDX-License-Identifier: GPL-2.0-or-later
// The thread that keeps up with the kernel: drains, orders, aggregates into slices, hands raw bytes to the captures.
// Never symbolizes, never waits for a disk, and waits for the analyst only where time does not press (a replay).
//
//   RecordSource ─▶ [process table ◀ SliceBuilder] ─▶ parcels ─▶ analyst
//                └▶ CaptureRotation ─▶ DiskWriter
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "analyzer/slice/builder.hpp"
#include "collector/processes.hpp"
#include "collector/recording_session.hpp"
#include "collector/stream.hpp"
#include "daemon/board.hpp"
#include "daemon/capture_rotation.hpp"
#include "daemon/overhead.hpp"
#include "daemon/recording_control.hpp"
#include "daemon/slice_parcel.hpp"
#include "daemon/spsc_queue.hpp"

namespace perfvigil::daemon {

inline constexpr std::size_t kWaitingSlices = 12;  // a minute of slices of 5 s

// Between sampler and analyst.
struct SliceQueues {
    SpscQueue<SliceParcel> ready{kWaitingSlices};
    SpscQueue<std::unique_ptr<analyzer::Slice>> recycled{kWaitingSlices};
};

class Sampler final : private collector::RecordSink {
public:
    struct Parts {
        collector::RecordSource& source;
        collector::RecordingSession* session = nullptr;  // the same source, when it is the kernel
        const collector::HostFacts& host;
        collector::DsoListener* listener = nullptr;
        analyzer::SliceLimits limits;
        SliceQueues& queues;
        Board& board;
        const Clock& clock;
        // Of a session only.
        ControlLimits control{};
        collector::Tuning configured{};  // as the configuration says it; the session's may be less
        collector::SampleCost sample_cost{};
        analyzer::ExclusionRules exclude{};
    };

    explicit Sampler(Parts parts);

    // Before run(): keeps the raw stream as well.
    void keep_captures(const config::CaptureOptions& options, DiskWriter& disk, DiskWriter::Report report);

    // Until `stop`, or until the source ends; then the last cut. The error of the source, if it had one.
    [[nodiscard]] Result<void> run(const std::stop_token& stop);

    // Any thread; takes effect at the next drain. Where the configuration's tuning is the same as before, what the loss
    // loop and the budget made of it stays.
    void configure(const collector::Tuning& tuning, double cpu_budget);
    void set_capture_limits(std::uint64_t file_bytes, Nanoseconds file_age);
    // Ends the capture file at hand with the slice, so that it is whole soon.
    void cut_capture() {
        if (captures_) captures_->cut_soon();
    }
    [[nodiscard]] std::string current_capture() const { return captures_ ? *captures_->current() : std::string(); }

private:
    struct Orders {
        std::optional<std::pair<collector::Tuning, double>> tuning;
        std::optional<std::pair<std::uint64_t, Nanoseconds>> capture_limits;
    };

    void on_record(const collector::OrderedRecord& record) override;
    void on_cut(const collector::Cut& cut) override;
    void deliver(std::unique_ptr<analyzer::Slice> slice);
    void control(SliceParcel& parcel);
    [[nodiscard]] SliceLoad load_of(SliceParcel& parcel);
    [[nodiscard]] OverheadNumbers captures_overhead() const;
    [[nodiscard]] std::size_t online_cpus() const { return std::max<std::size_t>(cpus_online_, 1); }
    void obey();
    void wait_until(MonotonicTime time);
    void take_orders();

    Parts parts_;
    collector::ProcessTable processes_;
    std::optional<CaptureRotation> captures_;
    std::optional<analyzer::Exclusion> exclusion_;
    analyzer::SliceBuilder builder_;
    std::shared_ptr<const std::vector<collector::EventInfo>> events_;
    std::stop_token stop_;
    WakeEvent wake_;
    std::optional<RecordingControl> control_;  // from run() on, of a session
    std::size_t cpus_online_;                  // as of the last cut: shares are of what the host has now
    OverheadMeter overhead_;
    CpuBudget cpu_budget_;
    CpuBudget captures_budget_;
    std::uint64_t samples_taken_ = 0;  // by the kernel for us, lost ones too: what sampling cost
    std::uint64_t duplicates_ = 0;
    std::mutex orders_mutex_;
    Orders orders_;
    std::uint64_t dropped_slices_ = 0;
    bool kernel_changed_ = false;
};

}  // namespace perfvigil::daemon
