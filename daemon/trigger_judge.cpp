// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/trigger_judge.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/trigger_format.hpp"
#include "config/values.hpp"

namespace perfvigil::daemon {
namespace {

using config::TriggerRule;
using Signal = TriggerRule::Signal;

// Slices are aligned to wall time, which may be slewed: twelve of 5 s are a minute.
constexpr Nanoseconds kTolerance = std::chrono::milliseconds(100);
constexpr Nanoseconds kHour = std::chrono::hours(1);

// A clock that was set back makes the past the future: nothing is waited for then.
bool within(WallTime earlier, WallTime now, Nanoseconds span) { return earlier <= now && now - earlier < span; }

std::string level_text(Signal signal, double level) {
    const bool load = signal == Signal::kLoad || signal == Signal::kLoadPerCpu;
    return load ? fmt::format("{:.2f}", level) : fmt::format("{:.1f} %", 100 * level);
}

std::string subject(const TriggerRule& rule) {
    switch (rule.signal) {
        case Signal::kCpuBusy: return "the CPUs were busy for";
        case Signal::kFunction: return escape(rule.of) + " took, of the busy time,";
        case Signal::kUnit: return escape(rule.of) + " used, of one CPU,";
        case Signal::kLoss: return "lost of all samples were";
        case Signal::kPressure: return "pressure (" + rule.of + ") was";
        case Signal::kLoad: return "the load was";
        case Signal::kLoadPerCpu: return "the load per CPU was";
    }
    return {};
}

}  // namespace

void TriggerJudge::configure(const config::TriggerOptions& options) {
    options_ = options;
    std::erase_if(states_, [&](const auto& entry) {
        return std::ranges::find(options_.rules, entry.second.rule) == options_.rules.end();
    });
}

void TriggerJudge::remember(const std::string& rule, WallTime at) {
    const auto known = std::ranges::find(options_.rules, rule, &TriggerRule::name);
    if (known != options_.rules.end()) {
        auto& state = states_[rule];
        state.rule = *known;
        state.fired_at = state.fired_at ? std::max(*state.fired_at, at) : at;
    }
    fired_.push_back(at);
    std::ranges::sort(fired_);
}

bool TriggerJudge::may_fire(const State& state, WallTime now) const {
    if (state.fired_at && within(*state.fired_at, now, options_.pause)) return false;
    const auto recent = std::ranges::count_if(fired_, [&](WallTime at) { return within(at, now, kHour); });
    return recent < static_cast<std::ptrdiff_t>(options_.per_hour);
}

std::vector<Firing> TriggerJudge::judge(std::span<const std::optional<Measure>> measures, WallTime end,
                                        Nanoseconds length) {
    std::vector<Firing> firings;
    while (!fired_.empty() && !within(fired_.front(), end, kHour)) fired_.pop_front();
    for (std::size_t i = 0; i < options_.rules.size() && i < measures.size(); ++i) {
        const auto& rule = options_.rules[i];
        const auto& measure = measures[i];
        auto& state = states_[rule.name];
        state.rule = rule;
        if (!measure || !(measure->low > rule.above)) {
            state.held = {};
            state.told = false;
            continue;
        }
        if (state.held == Nanoseconds{}) {
            state.weighted = 0;
            state.least = measure->value;
        }
        state.held += length;
        state.weighted += measure->value * to_seconds(length);
        state.least = std::min(state.least, measure->value);
        if (state.told || state.held + kTolerance < rule.hold) continue;
        state.told = true;
        if (!may_fire(state, end)) {
            ++state.suppressed;
            continue;
        }
        ++state.fired;
        state.fired_at = end;
        fired_.push_back(end);
        const double mean = state.weighted / to_seconds(state.held);
        firings.push_back(
            {.rule = rule,
             .evidence = {.text = fmt::format("{} {} over {:.0f} s, never under {} (limit: {})", subject(rule),
                                              level_text(rule.signal, mean), to_seconds(state.held),
                                              level_text(rule.signal, state.least),
                                              config::print_level(rule.signal, rule.above)),
                          .value = mean,
                          .limit = rule.above,
                          .held = state.held},
             .at = end});
    }
    return firings;
}

std::vector<TriggerCounts> TriggerJudge::counts() const {
    std::vector<TriggerCounts> counts;
    for (const auto& rule : options_.rules) {
        const auto state = states_.find(rule.name);
        TriggerCounts one{.rule = rule.name};
        if (state != states_.end()) {
            one.fired = state->second.fired;
            one.suppressed = state->second.suppressed;
        }
        counts.push_back(std::move(one));
    }
    return counts;
}

}  // namespace perfvigil::daemon
