// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/sampler.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/log.hpp"

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
               [this](std::unique_ptr<analyzer::Slice> slice) { deliver(std::move(slice)); }),
      cpus_online_(parts_.host.cpus_online),
      overhead_(parts_.sample_cost) {
    if (!parts_.exclude.empty()) {
        if (parts_.session != nullptr)
            exclusion_.emplace(parts_.exclude);
        else  // a capture's processes are not those of this host
            exclusion_.emplace(parts_.exclude, [](Pid) { return std::nullopt; });
        builder_.exclude(&*exclusion_);
    }
    if (!parts_.host.cpu_times.empty()) builder_.set_baseline_times(parts_.host.cpu_times.front().cpus);
}

void Sampler::keep_captures(const config::CaptureOptions& options, DiskWriter& disk, DiskWriter::Report report) {
    captures_.emplace(options, disk, parts_.source.events(), parts_.host, processes_, parts_.clock, std::move(report));
}

Result<void> Sampler::run(const std::stop_token& stop) {
    stop_ = stop;
    const std::stop_callback on_stop(stop, [this] { wake_.raise(); });
    if (parts_.session != nullptr) {
        duplicates_ = parts_.session->counters().duplicate_samples;
        control_.emplace(parts_.control, parts_.session->tuning(),
                         captures_ ? RecordingControl::Captures::kKept : RecordingControl::Captures::kNone);
    }
    // What it took to get here is not the first slice's, but it counts.
    const auto start = overhead_.measure(parts_.board.symbol_child.load(), 0);
    (void)cpu_budget_.use(start, online_cpus(), parts_.clock.monotonic());
    if (control_) control_->start_took(to_seconds(start.processes) / static_cast<double>(online_cpus()));
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
    kernel_changed_ = kernel_changed_ || !cut.modules.empty();
    if (!cut.cpu_times.empty()) cpus_online_ = cut.cpu_times.size();
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
    control(parcel);
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

// What the slice lost and cost.
SliceLoad Sampler::load_of(SliceParcel& parcel) {
    const auto& slice = *parcel.slice;
    SliceLoad load{.length = slice.end - slice.start,
                   .cpus = parcel.cpus.size(),
                   .lost_side_band = slice.lost_side_band,
                   .in_force = parcel.tuning.value_or(collector::Tuning{})};
    const auto& events = *parcel.events;
    for (std::size_t i = 0; i < slice.totals.size() && i < events.size(); ++i) {
        if (events[i].role != collector::EventRole::kSampling) continue;
        load.samples += slice.totals[i].samples;
        load.lost_samples += slice.totals[i].lost;
    }
    if (parcel.counters) {
        const std::uint64_t duplicates = parcel.counters->duplicate_samples;
        samples_taken_ += load.samples + load.lost_samples + (duplicates - std::exchange(duplicates_, duplicates));
    }
    parcel.overhead = overhead_.measure(parts_.board.symbol_child.load(), samples_taken_);
    // Captures on demand have a budget of their own: this recording is not to make room for them.
    const auto captures = captures_overhead();
    parcel.overhead.processes -= Nanoseconds(parts_.board.captures.thread_time.load());
    const auto now = parts_.clock.monotonic();
    const auto use = cpu_budget_.use(parcel.overhead, online_cpus(), now);
    parcel.captures_use = captures_budget_.use(captures, online_cpus(), now).all();
    parcel.overhead.processes += captures.processes;
    parcel.overhead.sampling += captures.sampling;
    load.processes = use.processes;
    load.sampling = use.sampling;
    parcel.cpu_use = use.all();
    parcel.sampling_use = use.sampling;
    return load;
}

OverheadNumbers Sampler::captures_overhead() const {
    const auto& use = parts_.board.captures;
    return {.processes = Nanoseconds(use.thread_time.load() + use.child_time.load()),
            .sampling = parts_.sample_cost.value * static_cast<std::int64_t>(use.samples.load())};
}

// What is done about it.
void Sampler::control(SliceParcel& parcel) {
    const SliceLoad load = load_of(parcel);
    if (!control_) return;
    control_->set_rings_taken(parts_.board.captures.ring_bytes.load());
    for (auto& step : control_->judge(load)) {
        const auto say = step.cause == Cause::kCalm ? log::info : log::warning;
        say("recording changes", {{"what", kKnobNames[static_cast<std::size_t>(step.knob)]},
                                  {"cause", kCauseNames[static_cast<std::size_t>(step.cause)]},
                                  {"from", step.before},
                                  {"to", step.after},
                                  {"why", step.text}});
        parcel.steps.push_back(std::move(step.text));
    }
    parcel.step_counts = control_->counts();
    std::ranges::move(control_->degraded(), std::back_inserter(parcel.degraded));
    obey();
}

void Sampler::obey() {
    if (control_->tuning() != parts_.session->tuning()) parts_.session->retune(control_->tuning());
    if (!captures_) return;
    if (control_->keeps_captures())
        captures_->resume();
    else
        captures_->pause();
}

void Sampler::configure(const collector::Tuning& tuning, double cpu_budget) {
    {
        const std::lock_guard lock(orders_mutex_);
        orders_.tuning.emplace(tuning, cpu_budget);
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
    if (orders.tuning && control_) {
        const auto& [tuning, budget] = *orders.tuning;
        control_->set_budget(budget);
        if (tuning != std::exchange(parts_.configured, tuning)) control_->ask(tuning);
        obey();
    }
    if (orders.capture_limits && captures_) {
        captures_->set_limits(orders.capture_limits->first, orders.capture_limits->second);
    }
}

}  // namespace perfvigil::daemon
