// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/sampler.hpp"

#include <algorithm>

namespace perfvigil::daemon {
namespace {

// How long a full queue is waited for at a time in a replay.
constexpr int kQueuePauseMs = 1;
// Longest sleep without a look at the orders; drains come far more often.
constexpr Nanoseconds kLongestWait = std::chrono::seconds(1);

}  // namespace

Sampler::Sampler(Parts parts)
    : parts_(parts),
      processes_({}, parts.listener),
      builder_(parts.source.events(), processes_, analyzer::KernelText(parts.host.text_ranges), parts.limits,
               [this](std::unique_ptr<analyzer::Slice> slice) { deliver(std::move(slice)); }) {
    if (!parts_.host.cpu_times.empty()) builder_.set_baseline_times(parts_.host.cpu_times.front().cpus);
}

void Sampler::keep_captures(const config::CaptureOptions& options, DiskWriter& disk, DiskWriter::Report report) {
    captures_.emplace(options, disk, parts_.source.events(), parts_.host, processes_, parts_.clock, std::move(report));
}

Result<void> Sampler::run(const std::stop_token& stop) {
    stop_ = stop;
    const std::stop_callback on_stop(stop, [this] { wake_.raise(); });
    Result<void> outcome;
    while (!stop.stop_requested()) {
        const auto next = parts_.source.next_pump();
        if (!next) break;
        wait_until(*next);
        take_orders();
        outcome = parts_.source.pump(*this);
        if (!outcome) break;
        parts_.board.sampler_beat.store(parts_.clock.monotonic().time_since_epoch().count());
    }
    // What was gathered is told even when the source broke.
    auto finished = parts_.source.finish(*this);
    if (captures_) captures_->finish();
    return outcome ? finished : outcome;
}

void Sampler::wait_until(MonotonicTime time) {
    const auto left = std::min(time - parts_.clock.monotonic(), kLongestWait);
    if (left <= Nanoseconds{}) return;
    // Rounded up: a wait that ends early would spin.
    wake_.wait(static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
}

void Sampler::on_record(const collector::OrderedRecord& record) {
    builder_.on_record(record);
    if (captures_) captures_->on_record(record);
    if (std::holds_alternative<collector::KsymbolRecord>(record.record)) kernel_changed_ = true;
}

void Sampler::on_cut(const collector::Cut& cut) {
    builder_.on_cut(cut);
    if (captures_) captures_->on_cut(cut);
}

void Sampler::deliver(std::unique_ptr<analyzer::Slice> slice) {
    while (auto empty = parts_.queues.recycled.try_pop()) builder_.recycle(std::move(*empty));
    const auto& events = parts_.source.events().events();
    if (events_ == nullptr || events_->size() != events.size()) {
        events_ = std::make_shared<const std::vector<collector::EventInfo>>(events);
    }
    SliceParcel parcel;
    parcel.slice = std::move(slice);
    parcel.events = events_;
    parcel.dropped_slices = dropped_slices_;
    parcel.kernel_changed = std::exchange(kernel_changed_, false);
    if (parts_.session != nullptr) {
        parcel.degraded = parts_.session->degraded();
        parcel.cpus = parts_.session->cpus();
        parcel.counters = parts_.session->counters();
        parcel.tuning = parts_.session->tuning();
    }
    while (!parts_.queues.ready.try_push(std::move(parcel))) {
        if (parts_.session != nullptr) {
            // The kernel does not wait: the analyst is a minute behind, and this slice is what that costs.
            ++dropped_slices_;
            kernel_changed_ = kernel_changed_ || parcel.kernel_changed;
            return builder_.recycle(std::move(parcel.slice));
        }
        if (stop_.stop_requested()) return;
        wake_.wait(kQueuePauseMs);
    }
}

void Sampler::retune(const collector::Tuning& tuning) {
    {
        const std::lock_guard lock(orders_mutex_);
        orders_.tuning = tuning;
    }
    wake_.raise();
}

void Sampler::set_capture_limits(std::uint64_t file_bytes, Nanoseconds file_age) {
    const std::lock_guard lock(orders_mutex_);
    orders_.capture_limits = {file_bytes, file_age};
}

void Sampler::take_orders() {
    Orders orders;
    {
        const std::lock_guard lock(orders_mutex_);
        orders = std::exchange(orders_, {});
    }
    if (orders.tuning && parts_.session != nullptr) parts_.session->retune(*orders.tuning);
    if (orders.capture_limits && captures_) {
        captures_->set_limits(orders.capture_limits->first, orders.capture_limits->second);
    }
}

}  // namespace perfvigil::daemon
