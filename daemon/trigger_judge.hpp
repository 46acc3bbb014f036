// SPDX-License-Identifier: GPL-2.0-or-later
// Which rules of triggers.rules have come true, and which of those may do something now. A state machine of numbers and
// times, without I/O.
//
// A rule comes true once: when it has held for its time. It comes true again only after a slice in which it did not
// hold. What comes true within its pause, or over the limit of all rules, is counted as suppressed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/options.hpp"
#include "daemon/frozen_captures.hpp"
#include "daemon/metrics.hpp"
#include "daemon/trigger_signals.hpp"

namespace perfvigil::daemon {

struct Firing {
    config::TriggerRule rule{};
    Evidence evidence{};
    WallTime at{};  // end of the slice
};

class TriggerJudge {
public:
    explicit TriggerJudge(const config::TriggerOptions& options) : options_(options) {}

    // New rules and limits; rules that stay as they were keep what is known of them.
    void configure(const config::TriggerOptions& options);
    // A rule did something then, before this daemon began: its pause and the limit hold across restarts.
    void remember(const std::string& rule, WallTime at);

    // One slice: by each rule what was measured.
    [[nodiscard]] std::vector<Firing> judge(std::span<const std::optional<Measure>> measures, WallTime end,
                                            Nanoseconds length);

    [[nodiscard]] const std::vector<config::TriggerRule>& rules() const { return options_.rules; }
    // By each rule, in their order.
    [[nodiscard]] std::vector<TriggerCounts> counts() const;

private:
    struct State {
        config::TriggerRule rule{};
        Nanoseconds held{};
        double weighted = 0;  // Σ value × seconds since it holds
        double least = 0;     // since then
        bool told = false;    // since then
        std::optional<WallTime> fired_at{};
        std::uint64_t fired = 0;
        std::uint64_t suppressed = 0;
    };
    [[nodiscard]] bool may_fire(const State& state, WallTime now) const;

    config::TriggerOptions options_;
    std::map<std::string, State> states_;
    std::deque<WallTime> fired_;  // by all rules, within the last hour
};

}  // namespace perfvigil::daemon
