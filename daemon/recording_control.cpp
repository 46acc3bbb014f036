// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/recording_control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "collector/negotiation.hpp"

namespace perfvigil::daemon {
namespace {

using std::chrono::minutes;

constexpr double kTolerableLoss = 0.001;
constexpr Nanoseconds kCalm = minutes(5);
constexpr Nanoseconds kLongestCalm = minutes(80);  // where what was given back was needed again each time
constexpr int kSettleSlices = 5;                   // a change that is not in force by then has failed
constexpr std::uint64_t kMostGrowth = 16;          // of a ring, in one step
constexpr std::uint32_t kLeastFrequency = 19;      // below it a minute tells too little
constexpr std::uint64_t kLeastStack = 16;
// Use over the budget is answered when it adds up to this many seconds' worth of it.
constexpr double kTolerance = 20;
// A step aims at this share of the budget: not all that is spent falls with the rate.
constexpr double kAim = 0.75;
// … or at less where something is to be paid back, but not at less than this.
constexpr double kLeastAim = 0.25;
// Five minutes that would cost more than this multiple of the budget are acted on, once the use of now is known from
// this many seconds.
constexpr double kPromised = 1.1;
constexpr double kWatch = 30;
// It is worth giving frequency back in part from this factor on.
constexpr double kWorthwhile = 1.25;

// Not in step with timers of 10, 100 or 1000 Hz.
std::uint64_t out_of_step(std::uint64_t hertz) {
    while (hertz > 1 && (hertz % 2 == 0 || hertz % 5 == 0)) --hertz;
    return hertz;
}

std::string percent(double share) { return fmt::format("{:.2g} %", 100 * share); }

std::string change_text(Knob knob, std::uint64_t before, std::uint64_t after) {
    switch (knob) {
        case Knob::kSampleRing:
            return fmt::format("each CPU's ring for samples goes from {} to {} KiB", before >> 10U, after >> 10U);
        case Knob::kSideBandRing:
            return fmt::format("each CPU's ring for side-band records goes from {} to {} KiB", before >> 10U,
                               after >> 10U);
        case Knob::kCaptures: return after == 0 ? "raw records are no longer kept" : "raw records are kept again";
        case Knob::kFrequency: return fmt::format("the sampling frequency goes from {} to {} Hz", before, after);
        case Knob::kMaxStack: return fmt::format("call chains are recorded to {} instead of {} frames", after, before);
    }
    return {};
}

}  // namespace

RecordingControl::RecordingControl(const ControlLimits& limits, const collector::Tuning& asked, Captures captures)
    : limits_(limits),
      asked_(asked),
      tuning_(asked),
      has_captures_(captures == Captures::kKept),
      captures_(has_captures_),
      patience_(kCalm) {}

void RecordingControl::ask(const collector::Tuning& asked) {
    asked_ = asked;
    tuning_ = asked;
    captures_ = has_captures_;
    taken_.clear();
    pending_ = {Knob::kSampleRing, Knob::kSideBandRing, Knob::kFrequency, Knob::kMaxStack};
    waited_ = 0;
    stuck_ = {};
    at_end_ = {};
    calm_ = {};
    patience_ = kCalm;
    gave_back_ = false;
    restart_budget();
}

std::vector<ControlStep> RecordingControl::judge(const SliceLoad& load) {
    std::vector<ControlStep> steps;
    if (!settled(load, steps)) return steps;
    const double all = static_cast<double>(load.samples + load.lost_samples);
    const bool lossy = static_cast<double>(load.lost_samples) > kTolerableLoss * all;
    const bool over = over_budget(load);
    if (load.lost_side_band > 0) answer_side_band_loss(load, steps);
    if (lossy) answer_loss(load, steps);
    if (over) answer_budget(steps);
    since_given_back_ += load.length;
    if (lossy || over || load.lost_side_band > 0) {
        // What was given back was needed after all: the next time it takes longer.
        if (gave_back_ && since_given_back_ < kCalm) patience_ = std::min(2 * patience_, kLongestCalm);
        gave_back_ = false;
        calm_ = {};
        return steps;
    }
    if (gave_back_ && since_given_back_ >= kCalm) {
        gave_back_ = false;
        patience_ = kCalm;
    }
    calm_ += load.length;
    if (calm_ >= minutes(1)) at_end_ = {};
    if (calm_ >= kCalm) stuck_ = {};
    if (calm_ >= patience_ && !taken_.empty()) give_back(steps);
    return steps;
}

// Whether the slice was recorded as was wanted.
bool RecordingControl::settled(const SliceLoad& load, std::vector<ControlStep>& steps) {
    const auto in_force = [&](Knob knob) { return value(knob, load.in_force) == value(knob); };
    if (std::ranges::all_of(pending_, in_force)) {
        pending_.clear();
        waited_ = 0;
        adopt(load, steps);
        return true;
    }
    if (++waited_ < kSettleSlices) return false;
    for (const Knob knob : pending_) {
        const auto last = std::ranges::find(taken_.rbegin(), taken_.rend(), knob, &Taken::knob);
        if (in_force(knob) || last == taken_.rend()) continue;
        taken_.erase(std::next(last).base());
        stuck_[static_cast<std::size_t>(knob)] = true;
    }
    pending_.clear();
    waited_ = 0;
    tuning_ = load.in_force;
    return true;
}

// The session grows its side-band ring by itself as soon as it loses, and limits what it is asked for.
void RecordingControl::adopt(const SliceLoad& load, std::vector<ControlStep>& steps) {
    if (load.in_force.side_band_ring_bytes > tuning_.side_band_ring_bytes) {
        step(Knob::kSideBandRing, Cause::kLoss, load.in_force.side_band_ring_bytes, "side-band records were lost",
             steps);
        pending_.clear();
    }
    tuning_ = load.in_force;
}

void RecordingControl::answer_loss(const SliceLoad& load, std::vector<ControlStep>& steps) {
    const double lost = static_cast<double>(load.lost_samples) / static_cast<double>(load.samples + load.lost_samples);
    const std::string why = percent(lost) + " of the samples were lost";
    if (!stuck(Knob::kSampleRing)) {
        const auto factor = std::bit_ceil(static_cast<std::uint64_t>(std::ceil(2 / std::max(1 - lost, 1e-3))));
        const std::uint64_t now = tuning_.sample_ring_bytes;
        const std::uint64_t ring = largest_ring(Knob::kSampleRing, now * std::min(factor, kMostGrowth), load);
        if (ring > now) return step(Knob::kSampleRing, Cause::kLoss, ring, why, steps);
    }
    if (lower_frequency(Cause::kLoss, std::min(0.5, kAim * (1 - lost)), why, steps)) return;
    if (!shorten_chains(Cause::kLoss, why, steps)) at_end_[static_cast<std::size_t>(Cause::kLoss)] = true;
}

void RecordingControl::answer_side_band_loss(const SliceLoad& load, std::vector<ControlStep>& steps) {
    if (stuck(Knob::kSideBandRing)) return;
    const std::uint64_t now = tuning_.side_band_ring_bytes;
    const std::uint64_t ring = largest_ring(Knob::kSideBandRing, 2 * now, load);
    if (ring <= now) return;
    step(Knob::kSideBandRing, Cause::kLoss, ring, fmt::format("{} side-band records were lost", load.lost_side_band),
         steps);
}

// At most `wanted`, so that rings of that size fit into rings.total twice: any later change has both open for a moment.
std::uint64_t RecordingControl::largest_ring(Knob knob, std::uint64_t wanted, const SliceLoad& load) const {
    const auto bytes = [&](const collector::Tuning& tuning) {
        return collector::ring_bytes(tuning, load.cpus, limits_.page_size);
    };
    collector::Tuning next = tuning_;
    std::uint64_t& ring = knob == Knob::kSampleRing ? next.sample_ring_bytes : next.side_band_ring_bytes;
    const std::uint64_t now = ring;
    for (ring = wanted; ring > now; ring /= 2) {
        if (2 * bytes(next) + rings_taken_ <= limits_.rings_total) break;
    }
    return std::max(ring, now);
}

// A burst of the daemon's own work (symbols of a new program) counts for twice the budget at most: no step would have
// spared it. What sampling costs goes on until something is done.
bool RecordingControl::over_budget(const SliceLoad& load) {
    const double seconds = to_seconds(load.length);
    const double use = load.sampling + load.processes;
    spending_.add(seconds, use * seconds);
    if (limits_.budget <= 0) return false;
    watched_ += seconds;
    spent_by_processes_ += load.processes * seconds;
    spent_by_sampling_ += load.sampling * seconds;
    const double lasting_processes = std::min(load.processes, 2 * limits_.budget);
    lasting_by_processes_ += lasting_processes * seconds;
    debt_ = std::max(0.0, debt_ + (load.sampling + lasting_processes - limits_.budget) * seconds);
    if (debt_ > kTolerance * limits_.budget && use > limits_.budget) return true;
    const double lasting = lasting_use();
    return watched_ >= kWatch && lasting > kLeastAim * limits_.budget &&
           spending_.dearest(lasting) > kPromised * limits_.budget;
}

// What profiling takes since the last step, and will take.
double RecordingControl::lasting_use() const {
    return (spent_by_sampling_ + lasting_by_processes_) / std::max(watched_, 1e-9);
}

// What a step aims at, and what may be given back up to.
double RecordingControl::aim() const {
    if (limits_.budget <= 0) return HUGE_VAL;
    return std::clamp(spending_.affordable(limits_.budget), kLeastAim * limits_.budget, kAim * limits_.budget);
}

void RecordingControl::answer_budget(std::vector<ControlStep>& steps) {
    const double lasting = lasting_use();
    const std::string why =
        fmt::format("profiling takes {} of the host's CPU time, {} of five minutes, budget.cpu is {}",
                    percent((spent_by_processes_ + spent_by_sampling_) / watched_), percent(spending_.dearest(lasting)),
                    percent(limits_.budget));
    const double aimed = aim();
    if (captures_) {
        const double sampling = spent_by_sampling_ / watched_;
        step(Knob::kCaptures, Cause::kBudget, 0, why, steps);
        // Where sampling alone is too much, captures are not what it takes.
        if (sampling <= aimed) return;
    }
    if (lower_frequency(Cause::kBudget, std::min(0.9, aimed / lasting), why, steps)) return;
    // Chains are not what is paid back with.
    if (lasting > limits_.budget) {
        if (shorten_chains(Cause::kBudget, why, steps)) return;
        at_end_[static_cast<std::size_t>(Cause::kBudget)] = true;
    }
    restart_budget();
}

bool RecordingControl::lower_frequency(Cause cause, double factor, const std::string& why,
                                       std::vector<ControlStep>& steps) {
    const std::uint64_t now = tuning_.frequency;
    const std::uint64_t least = std::min<std::uint64_t>(now, kLeastFrequency);
    const auto wanted = static_cast<std::uint64_t>(static_cast<double>(now) * factor);
    const std::uint64_t next = std::max(least, out_of_step(wanted));
    if (next >= now || stuck(Knob::kFrequency)) return false;
    step(Knob::kFrequency, cause, next, why, steps);
    return true;
}

bool RecordingControl::shorten_chains(Cause cause, const std::string& why, std::vector<ControlStep>& steps) {
    const std::uint64_t now = tuning_.max_stack;
    const std::uint64_t next = std::max(std::min(now, kLeastStack), now / 2);
    if (next >= now || stuck(Knob::kMaxStack)) return false;
    step(Knob::kMaxStack, cause, next, why, steps);
    return true;
}

// The newest step of each knob can be undone; the newest of these that the budget allows is.
void RecordingControl::give_back(std::vector<ControlStep>& steps) {
    std::array<bool, kKnobs> seen{};
    for (auto taken = taken_.rbegin(); taken != taken_.rend(); ++taken) {
        bool& tried = seen[static_cast<std::size_t>(taken->knob)];
        if (std::exchange(tried, true)) continue;
        const Knob knob = taken->knob;
        const std::uint64_t before = value(knob);
        const std::uint64_t back = affordable(*taken);
        if (back == before) continue;
        set_value(knob, back);
        const std::string why = fmt::format("calm for {} minutes", std::chrono::floor<minutes>(calm_).count());
        steps.push_back({knob, Cause::kCalm, before, back, why + ": " + change_text(knob, before, back)});
        ++counts_[static_cast<std::size_t>(knob)][static_cast<std::size_t>(Cause::kCalm)];
        if (back == taken->before) taken_.erase(std::next(taken).base());
        if (knob != Knob::kCaptures) pending_.push_back(knob);
        calm_ = {};
        gave_back_ = true;
        since_given_back_ = {};
        return restart_budget();
    }
}

// The value to which a knob can be given back: its present one where the budget does not allow any.
std::uint64_t RecordingControl::affordable(const Taken& taken) const {
    const std::uint64_t now = value(taken.knob);
    const double room = aim();
    const double watched = std::max(watched_, 1e-9);
    const double sampling = spent_by_sampling_ / watched;
    const double processes = lasting_by_processes_ / watched;
    switch (taken.knob) {
        case Knob::kSampleRing:
        case Knob::kSideBandRing: return taken.before;
        case Knob::kCaptures: {
            // Keeping records costs as they come: no more than the processes took then, at the rate of now.
            const double rate = taken.sampling > 0 ? sampling / taken.sampling : 1;
            const double saved = std::min(taken.processes * rate, taken.processes - processes);
            return sampling + processes + std::max(0.0, saved) <= room ? taken.before : now;
        }
        case Knob::kMaxStack: {
            // Half of a sample's cost is its chain, at most.
            const double more = static_cast<double>(taken.before) / static_cast<double>(now) - 1;
            return sampling + processes + 0.5 * more * sampling <= room ? taken.before : now;
        }
        case Knob::kFrequency: {
            // A sample costs the processes no more than the kernel; what they take beyond that does not follow the
            // rate.
            const double follows = sampling + std::min(sampling, processes);
            const double fixed = sampling + processes - follows;
            const double factor = follows > 0 ? (room - fixed) / follows : HUGE_VAL;
            if (static_cast<double>(now) * factor >= static_cast<double>(taken.before)) return taken.before;
            if (factor < kWorthwhile) return now;
            return std::max(now, out_of_step(static_cast<std::uint64_t>(static_cast<double>(now) * factor)));
        }
    }
    return now;
}

void RecordingControl::step(Knob knob, Cause cause, std::uint64_t after, const std::string& why,
                            std::vector<ControlStep>& steps) {
    const std::uint64_t before = value(knob);
    const double watched = std::max(watched_, 1e-9);
    taken_.push_back({knob, cause, before, lasting_by_processes_ / watched, spent_by_sampling_ / watched});
    set_value(knob, after);
    if (knob != Knob::kCaptures) pending_.push_back(knob);
    steps.push_back({knob, cause, before, after, why + ": " + change_text(knob, before, after)});
    ++counts_[static_cast<std::size_t>(knob)][static_cast<std::size_t>(cause)];
    restart_budget();
}

std::uint64_t RecordingControl::value(Knob knob, const collector::Tuning& tuning) {
    switch (knob) {
        case Knob::kSampleRing: return tuning.sample_ring_bytes;
        case Knob::kSideBandRing: return tuning.side_band_ring_bytes;
        case Knob::kFrequency: return tuning.frequency;
        case Knob::kMaxStack: return tuning.max_stack;
        case Knob::kCaptures: break;
    }
    return 0;
}

std::uint64_t RecordingControl::value(Knob knob) const {
    return knob == Knob::kCaptures ? std::uint64_t{captures_} : value(knob, tuning_);
}

void RecordingControl::set_value(Knob knob, std::uint64_t value) {
    switch (knob) {
        case Knob::kSampleRing: tuning_.sample_ring_bytes = value; return;
        case Knob::kSideBandRing: tuning_.side_band_ring_bytes = value; return;
        case Knob::kFrequency: tuning_.frequency = static_cast<std::uint32_t>(value); return;
        case Knob::kMaxStack: tuning_.max_stack = static_cast<std::uint16_t>(value); return;
        case Knob::kCaptures: captures_ = value != 0; return;
    }
}

// Old use says nothing of what the next slices will cost.
void RecordingControl::restart_budget() {
    debt_ = spent_by_processes_ = lasting_by_processes_ = spent_by_sampling_ = watched_ = 0;
}

std::vector<collector::Degraded> RecordingControl::degraded() const {
    std::vector<collector::Degraded> all;
    for (const Cause cause : {Cause::kLoss, Cause::kBudget}) {
        std::string what;
        const auto say = [&](Knob knob, const std::string& text) {
            const bool reduced =
                std::ranges::any_of(taken_, [&](const Taken& t) { return t.knob == knob && t.cause == cause; });
            if (reduced) what += (what.empty() ? "" : ", ") + text;
        };
        say(Knob::kCaptures, "raw records are not kept");
        say(Knob::kFrequency,
            fmt::format("{} instead of {} samples per second and CPU are taken", tuning_.frequency, asked_.frequency));
        say(Knob::kMaxStack,
            fmt::format("chains are recorded to {} instead of {} frames", tuning_.max_stack, asked_.max_stack));
        const bool at_end = at_end_[static_cast<std::size_t>(cause)];
        if (what.empty() && !at_end) continue;
        if (at_end) what += what.empty() ? "nothing is left to reduce" : "; nothing is left to reduce further";
        if (cause == Cause::kLoss) {
            all.push_back({"reduced_by_loss",
                           "samples were lost although the rings are as large as they may be: " + what,
                           "raise recording.rings.total, or lower recording.frequency"});
        } else {
            all.push_back({"reduced_by_budget",
                           "profiling exceeded budget.cpu (" + percent(limits_.budget) + " of the host): " + what,
                           "raise budget.cpu, or lower recording.frequency"});
        }
    }
    return all;
}

}  // namespace perfvigil::daemon
