// SPDX-License-Identifier: GPL-2.0-or-later
// What the rules of triggers.rules look at, measured over one slice. Thread: the analyst's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/ledger.hpp"
#include "analyzer/profile/builder.hpp"
#include "analyzer/slice.hpp"
#include "collector/event_table.hpp"
#include "config/trigger_rule.hpp"
#include "daemon/hotspot_identity.hpp"
#include "daemon/metrics_state.hpp"

namespace perfvigil::daemon {

struct Measure {
    double value = 0;
    // What is sampled has an error: the lower end of its 95 % interval. A rule holds where even that is over its limit.
    double low = 0;
};

class TriggerSignals {
public:
    explicit TriggerSignals(std::string proc = "/proc") : proc_(std::move(proc)) {}

    // By each rule what the slice says of it; nullopt: nothing (no clock was recorded, the kernel has no
    // /proc/pressure).
    [[nodiscard]] std::vector<std::optional<Measure>> measure(std::span<const config::TriggerRule> rules,
                                                              const analyzer::Slice& slice,
                                                              const analyzer::SliceHotspots& hotspots,
                                                              const std::vector<collector::EventInfo>& events);

private:
    // Of one line of /proc/pressure: "cpu some" is 0, "cpu full" 1, …
    struct Pressure {
        std::optional<std::uint64_t> total{};  // microseconds, as read last
        MonotonicTime read_at{};
        std::optional<double> share{};  // since the reading before that
    };
    [[nodiscard]] std::optional<double> pressure(std::string_view what, MonotonicTime at);
    [[nodiscard]] std::optional<double> load() const;

    std::string proc_;
    std::array<Pressure, 6> pressures_{};
    IdentityCache function_names_{function_identity};  // as metrics have them
};

}  // namespace perfvigil::daemon
