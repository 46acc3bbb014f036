// SPDX-License-Identifier: GPL-2.0-or-later
// too_few_samples, no_samples: how much chance is in the shares.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

// With 400 samples a share of 10 % is known to ±3 points (95 %), with 100 to ±6: a function twice as large looks alike.
constexpr double kFew = 400;
constexpr double kVeryFew = 100;
// Below this part of their number, uneven weights are worth a word.
constexpr double kEven = 0.8;

std::uint32_t largest_function(const Tally& tally) {
    std::uint32_t largest = Tally::kNobody;
    for (std::uint32_t i = 0; i < tally.profile().functions.size(); ++i) {
        if (largest == Tally::kNobody || tally.self_of(i).weight > tally.self_of(largest).weight) largest = i;
    }
    return largest;
}

void add_no_samples(const Tally& tally, Observations& found) {
    const auto& events = tally.profile().events;
    double all = 0;
    for (const auto& event : events) all += static_cast<double>(event.samples);
    if (events.empty() || all > 0) return;
    found.push_back({.id = "no_samples",
                     .severity = Severity::kNotice,
                     .at_least = 1,
                     .figures = {{"events", "", static_cast<double>(events.size())}, {"samples", "", 0}},
                     .evidence = fmt::format("{} recorded, and not one sample.",
                                             events.size() == 1 ? events.front().name + " was"
                                                                : fmt::format("{} events were", events.size())),
                     .meaning = "Nothing can be said about where time went.",
                     .remedy = "Record for longer, or check that what was to be recorded was running meanwhile."});
}

}  // namespace

void judge_sample_count(const Tally& tally, Observations& found) {
    if (!tally.judged()) return add_no_samples(tally, found);
    const std::uint64_t samples = tally.busy().samples;
    const double n = tally.effective_samples();
    if (n >= kFew) return;
    const auto& event = tally.judged_event();
    const Interval tenth = wilson(0.1 * n, n, kZ95);
    Observation made{
        .id = "too_few_samples",
        .severity = n < kVeryFew ? Severity::kNotice : Severity::kInfo,
        .at_least = 1 - n / kFew,
        .figures = {{"samples", event.name, static_cast<double>(samples)}, {"effective_samples", event.name, n}},
        .evidence = {},
        .meaning = fmt::format("A function shown with 10 % may as well have {} or {}; rows whose shares "
                               "are closer than that are in no order.",
                               percent(tenth.low), percent(tenth.high)),
        .remedy = "Record longer or at a higher frequency: four times the samples halve the intervals."};
    made.evidence = fmt::format("{} of {} outside idle", number_of(samples, "sample", "samples"), event.name);
    if (n < kEven * static_cast<double>(samples)) {
        made.evidence += fmt::format(", whose uneven weights tell as much as {:.0f} equal ones", std::max(n, 1.0));
    }
    const std::uint32_t largest = samples == 0 ? Tally::kNobody : largest_function(tally);
    if (samples == 0) made.meaning = "Nothing can be said about where time went: the CPUs that were seen were idle.";
    if (largest != Tally::kNobody && tally.self_of(largest).samples != 0) {
        const Share share = tally.share(tally.self_of(largest));
        made.evidence +=
            fmt::format("; the largest row, {}, has {} of them and {} of the weight, 95 % interval {} to {}",
                        function_name(tally, largest), tally.self_of(largest).samples, percent(share.ratio),
                        percent(share.interval.low), percent(share.interval.high));
        made.figures.push_back({"share", function_name(tally, largest), share.ratio});
        made.figures.push_back({"share_low", function_name(tally, largest), share.interval.low});
        made.figures.push_back({"share_high", function_name(tally, largest), share.interval.high});
    }
    made.evidence += ".";
    found.push_back(std::move(made));
}

}  // namespace perfvigil::analyzer
