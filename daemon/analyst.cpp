// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/analyst.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/time_text.hpp"
#include "daemon/live_slice.hpp"
#include "daemon/log.hpp"

namespace perfvigil::daemon {
namespace {

constexpr int kNice = 5;
// Longest sleep: also how often orders and the beat are looked after.
constexpr int kLongestWaitMs = 1000;
// The store's upkeep goes in pieces; between two of them others get the CPU …
constexpr int kUpkeepPauseMs = 20;
// … and none begins when a window is to be stored this soon.
constexpr Nanoseconds kUpkeepRoom = std::chrono::milliseconds(500);
// More finished windows than this are not left waiting for their random time.
constexpr std::size_t kWaitingWindows = 2;

MetricsOptions metrics_options(const config::MetricsOptions& options) {
    MetricsOptions made;
    made.version = PERFVIGIL_VERSION;
    const auto family = [&](HotspotOptions& hotspots, std::uint32_t budget) {
        hotspots.budget = budget;
        hotspots.min_weight = options.threshold;
    };
    family(made.functions, options.functions);
    family(made.dsos, options.dsos);
    family(made.units, options.units);
    return made;
}

std::uint64_t samples_of(const analyzer::Slice& slice) {
    std::uint64_t sum = 0;
    for (const auto& total : slice.totals) sum += total.samples;
    return sum;
}

// A window must be on its way before the next one ends; a replay need not spare anybody.
Nanoseconds spread_of(const config::AnalysisOptions& options, bool replay) {
    return replay ? Nanoseconds{} : std::min(options.spread, options.window / 2);
}

// The second that names a window: the one in which it ends, where ends are blurred a little (WindowClock).
WallTime id_time(WallTime end) { return std::chrono::ceil<std::chrono::seconds>(end - std::chrono::milliseconds(50)); }

}  // namespace

Analyst::Analyst(Parts parts)
    : parts_(std::move(parts)),
      spread_(spread_of(parts_.options.analysis, parts_.replay)),
      budget_(parts_.options.budget),
      store_limit_(parts_.options.store.bytes),
      store_(parts_.options.store),
      metrics_(metrics_options(parts_.options.metrics)),
      overhead_{.cost_per_sample = parts_.sample_cost.value, .cost_assumed = parts_.sample_cost.assumed},
      window_length_(parts_.options.analysis.window),
      windows_(window_length_),
      trigger_last_(parts_.options.triggers.last),
      judge_(parts_.options.triggers),
      random_(static_cast<std::minstd_rand::result_type>(parts_.clock.wall().time_since_epoch().count() ^ ::getpid())) {
}

void Analyst::run(const std::stop_token& stop) {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
    const std::stop_callback on_stop(stop, [this] { parts_.queues.ready.filled().raise(); });
    store_.open();
    parts_.board.degraded.set("store", store_.degraded());
    publish(nullptr, {});
    while (!stop.stop_requested()) {
        beat();
        parts_.queues.ready.filled().wait(wait_ms());
        take_orders();
        while (auto parcel = parts_.queues.ready.try_pop()) take(std::move(*parcel));
        store_due();
        tend_store();
    }
    while (auto parcel = parts_.queues.ready.try_pop()) take(std::move(*parcel));
    // Without a last cut (the source broke) the window is still open.
    if (builder_ && builder_->slices() > 0) close_window(true);
    while (!waiting_.empty()) store_one();
}

void Analyst::beat() { parts_.board.analyst_beat.store(parts_.clock.monotonic().time_since_epoch().count()); }

int Analyst::wait_ms() const {
    const int longest = store_untended_ && last_end_ != WallTime{} ? kUpkeepPauseMs : kLongestWaitMs;
    if (waiting_.empty()) return longest;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(waiting_.front().due - parts_.clock.monotonic());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, longest));
}

void Analyst::take(SliceParcel parcel) {
    beat();
    const auto begun = parts_.clock.monotonic();
    auto& slice = *parcel.slice;
    const auto length = slice.end - slice.start;
    if (windows_.ends_before(slice.wall_end, length)) close_window(true);
    if (parcel.events != events_) begin_builder(parcel);
    note_changes(parcel);

    const auto hotspots = builder_->add(slice);
    metrics_.add_slice(slice, hotspots, *events_, parts_.board.metrics.newest_served());
    show(parcel, hotspots);
    judge_rules(slice, hotspots);
    samples_ += samples_of(slice);
    last_end_ = slice.wall_end;
    const bool complete = windows_.add(slice.wall_end, length);
    if (complete || slice.clock_stepped || slice.last) close_window(slice.clock_stepped);

    publish(&parcel, parts_.clock.monotonic() - begun);
    parts_.board.slices.fetch_add(1);
    // A full queue back only means that the next slice allocates.
    (void)parts_.queues.recycled.try_push(std::move(parcel.slice));
}

// To those who look at the daemon now.
void Analyst::show(const SliceParcel& parcel, const analyzer::SliceHotspots& hotspots) {
    LiveSlice live{
        .number = parts_.board.slices.load() + 1, .slice = *parcel.slice, .hotspots = hotspots, .events = *events_};
    if (!parts_.replay) {
        live.cost = LiveSlice::Cost{.processes = parcel.cpu_use - parcel.sampling_use,
                                    .kernel = parcel.sampling_use,
                                    .captures = parcel.captures_use,
                                    .budget = budget_.cpu,
                                    .assumed = parts_.sample_cost.assumed};
    }
    parts_.board.live.put(live_slice_json(live));
}

void Analyst::judge_rules(const analyzer::Slice& slice, const analyzer::SliceHotspots& hotspots) {
    const auto& around = parts_.surroundings;
    if (judge_.rules().empty() || parts_.replay || !around.on_rule) return;
    if (!std::exchange(remembered_, true) && around.frozen) {
        for (const auto& frozen : *around.frozen()) {
            if (!frozen.order.rule.empty()) judge_.remember(frozen.order.rule, frozen.order.to);
        }
    }
    const auto measures = signals_.measure(judge_.rules(), slice, hotspots, *events_);
    for (const auto& firing : judge_.judge(measures, slice.wall_end, slice.end - slice.start)) {
        notes_.push_back(
            fmt::format("Rule {} came true at {}: {}. Captures from before it are frozen (perfvigil "
                        "captures).",
                        firing.rule.name, readable_time(firing.at), firing.evidence.text));
        around.on_rule(firing, trigger_last_);
    }
}

// The stream names its events, or other ones than before: what was built with the old names is a window of its own.
void Analyst::begin_builder(const SliceParcel& parcel) {
    if (builder_ && builder_->slices() > 0) close_window(true);
    builder_.reset();  // it may look at the old names until its end
    events_ = parcel.events;
    builder_ = std::make_unique<analyzer::ProfileBuilder>(*events_, parts_.symbolizer);
    if (parts_.options.redact == config::Redact::kPaths) builder_->redact_paths();
}

void Analyst::note_changes(const SliceParcel& parcel) {
    if (parcel.slice->clock_stepped) {
        log::warning("the clock was set, or the host slept; the window ends early",
                     {{"at", iso_time(parcel.slice->wall_end)}});
        notes_.push_back("The clock was set, or the host slept, before " + readable_time(parcel.slice->wall_end) +
                         ": the window ends early.");
    }
    if (parcel.kernel_changed) parts_.surroundings.note_kernel_change();
    if (parcel.dropped_slices != dropped_slices_) {
        const auto dropped = parcel.dropped_slices - dropped_slices_;
        dropped_slices_ = parcel.dropped_slices;
        log::warning("slices dropped, the analysis is too slow for this host", {{"slices", dropped}});
        warnings_.push_back(std::to_string(dropped) +
                            " slices before this one are missing: the analysis was more than a minute behind.");
    }
    if (tuning_ && parcel.tuning && *tuning_ != *parcel.tuning) {
        const auto& before = *tuning_;
        const auto& now = *parcel.tuning;
        if (before.frequency != now.frequency) {
            notes_.push_back("The sampling frequency changed from " + std::to_string(before.frequency) + " to " +
                             std::to_string(now.frequency) + " Hz.");
        }
        if (before.max_stack != now.max_stack) {
            notes_.push_back("The depth of call chains changed from " + std::to_string(before.max_stack) + " to " +
                             std::to_string(now.max_stack) + " frames.");
        }
        if (before.sample_ring_bytes != now.sample_ring_bytes ||
            before.side_band_ring_bytes != now.side_band_ring_bytes) {
            notes_.emplace_back("The size of the rings changed.");
        }
    }
    notes_.insert(notes_.end(), parcel.steps.begin(), parcel.steps.end());
    tuning_ = parcel.tuning;
    overhead_ = parcel.overhead;
    step_counts_ = parcel.step_counts;
    parts_.board.symbol_child.store(parts_.surroundings.symbol_child());
    session_degraded_ = parcel.degraded;
    parts_.board.degraded.set("session", parcel.degraded);
    parts_.board.degraded.set("symbols", parts_.surroundings.no_names());
}

void Analyst::close_window(bool early) {
    const bool partial = windows_.close() || early;
    if (!builder_ || builder_->slices() == 0) return;
    auto profile = builder_->build(parts_.host, compact_time(id_time(last_end_)));
    profile.partial = profile.partial || partial;
    metrics_.add_window(profile);
    if (parts_.surroundings.on_window) parts_.surroundings.on_window(profile);
    if (!parts_.replay) profile.degraded = session_degraded_;
    for (auto& one : parts_.surroundings.no_names()) profile.degraded.push_back(std::move(one));
    std::ranges::move(std::exchange(notes_, {}), std::back_inserter(profile.notes));
    if (parts_.surroundings.captures_beside) {
        auto beside = parts_.surroundings.captures_beside(profile.start, profile.start + profile.duration);
        std::ranges::move(beside, std::back_inserter(profile.notes));
    }
    std::ranges::move(std::exchange(warnings_, {}), std::back_inserter(profile.warnings));
    std::uniform_int_distribution<Nanoseconds::rep> delay(0, spread_.count());
    waiting_.push_back({std::move(profile), parts_.clock.monotonic() + Nanoseconds(delay(random_))});
    while (waiting_.size() > kWaitingWindows) store_one();
}

void Analyst::store_due() {
    while (!waiting_.empty() && waiting_.front().due <= parts_.clock.monotonic()) store_one();
}

// Roll-ups and what is over age, a piece at a time. Ages are counted in the recording's time, so a replay is treated as
// what it replays.
void Analyst::tend_store() {
    if (!store_untended_ || last_end_ == WallTime{}) return;
    if (!waiting_.empty() && waiting_.front().due - parts_.clock.monotonic() < kUpkeepRoom) return;
    store_untended_ = store_.tend(last_end_, window_length_);
    parts_.board.degraded.set("store", store_.degraded());
    beat();
}

void Analyst::store_one() {
    beat();
    auto profile = std::move(waiting_.front().profile);
    waiting_.pop_front();
    const auto info = describe(profile, 0);
    const auto failed = store_.counters().failed;
    const auto begun = parts_.clock.monotonic();
    const auto id = store_.put(std::move(profile));
    store_untended_ = true;
    if (parts_.surroundings.on_stored) parts_.surroundings.on_stored(id);
    parts_.board.degraded.set("store", store_.degraded());
    const bool stored = store_.counters().failed == failed;
    if (stored && info.partial)
        ++window_counters_.partial;
    else if (stored)
        ++window_counters_.stored;
    else
        ++window_counters_.failed;
    log::debug(stored ? "window stored" : "window kept in memory",
               {{"id", id},
                {"samples", info.samples},
                {"lost", info.lost},
                {"partial", info.partial},
                {"seconds", to_seconds(parts_.clock.monotonic() - begun)}});
}

void Analyst::reload(const config::Options& options) {
    const std::lock_guard lock(orders_mutex_);
    orders_ = options;
}

void Analyst::take_orders() {
    std::optional<config::Options> orders;
    {
        const std::lock_guard lock(orders_mutex_);
        orders = std::exchange(orders_, std::nullopt);
    }
    if (!orders) return;
    spread_ = spread_of(orders->analysis, parts_.replay);
    budget_ = orders->budget;
    store_limit_ = orders->store.bytes;
    trigger_last_ = orders->triggers.last;
    judge_.configure(orders->triggers);
    store_.set_limits(orders->store);
    store_untended_ = true;
}

DaemonNumbers Analyst::numbers(const SliceParcel* parcel, Nanoseconds spent) {
    const auto& around = parts_.surroundings;
    DaemonNumbers made;
    made.degraded = parts_.board.degraded.all();
    made.overhead = overhead_;
    made.steps = step_counts_;
    made.captures = parts_.board.captures.counts();
    if (around.shipped) made.shipped = around.shipped();
    if (!parts_.replay) made.triggers = judge_.counts();
    const auto captures = around.captures();
    if (parcel != nullptr) {
        made.session = parcel->counters;
        if (parcel->tuning) made.sampling_frequency = parcel->tuning->frequency;
        made.budgets.push_back({"cpu", parcel->cpu_use, budget_.cpu});
        made.budgets.push_back({"captures", parcel->captures_use, budget_.captures});
    }
    made.budgets.push_back({"store", static_cast<double>(store_.profile_bytes()), static_cast<double>(store_limit_)});
    made.process = read_process_numbers();
    made.windows = window_counters_;
    made.windows.dropped = store_.counters().dropped;
    made.store = {store_.profile_bytes(), captures.bytes, store_.index_bytes(), captures.frozen_bytes};
    made.drops = {dropped_slices_, around.dropped_files(), captures.abandoned};
    made.slice_analysis = spent;
    return made;
}

RecordingStatus Analyst::status(const SliceParcel& parcel) const {
    RecordingStatus made;
    for (const auto& event : *events_) {
        if (event.role != collector::EventRole::kSampling) continue;
        const auto asked = event.attr.freq() ? event.attr.sample_period_or_freq : 0;
        made.events.emplace_back(event.name,
                                 parcel.tuning ? parcel.tuning->frequency : static_cast<std::uint32_t>(asked));
    }
    if (parcel.tuning) made.max_stack = parcel.tuning->max_stack;
    made.cpus = parcel.cpus;
    if (made.cpus.empty()) {
        for (const auto& cpu : parcel.slice->cpus) made.cpus.push_back(cpu.cpu);
    }
    made.slices = parts_.board.slices.load() + 1;
    made.last_slice_end = parcel.slice->wall_end;
    made.counters = {{"samples", samples_}, {"dropped_slices", dropped_slices_}};
    if (parcel.counters) {
        const auto& c = *parcel.counters;
        made.ring_bytes = c.ring_bytes;
        for (const auto& [name, value] : std::initializer_list<std::pair<std::string_view, std::uint64_t>>{
                 {"records", c.records},
                 {"lost_sample_records", c.lost_sample_records},
                 {"lost_side_band_records", c.lost_side_band_records},
                 {"late_records", c.late_records},
                 {"malformed_records", c.malformed_records},
                 {"unknown_ids", c.unknown_ids},
                 {"duplicate_samples", c.duplicate_samples},
                 {"resyncs", c.resyncs},
                 {"cpus_gone", c.cpus_gone},
                 {"cpus_back", c.cpus_back}}) {
            made.counters.emplace_back(name, value);
        }
    }
    const auto captures = parts_.surroundings.captures();
    made.profile_bytes = store_.profile_bytes();
    made.capture_bytes = captures.bytes;
    made.capture_files = captures.files;
    made.capture_file = captures.current;
    return made;
}

void Analyst::publish(const SliceParcel* parcel, Nanoseconds spent) {
    metrics_.set(numbers(parcel, spent));
    auto text = metrics_.exposition();
    if (parcel == nullptr) {
        return parts_.board.metrics.put(std::move(text), MetricsShelf::kNever, MetricsShelf::kNever);
    }
    const auto end = parcel->slice->end;
    parts_.board.metrics.put(std::move(text), end, parts_.replay ? parts_.clock.monotonic() : end);
    parts_.board.recording.set(status(*parcel));
}

}  // namespace perfvigil::daemon
