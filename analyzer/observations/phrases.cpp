// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/observations/phrases.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

template <class Row, class Name>
std::string parts(const Tally& tally, std::span<const Row> rows, std::size_t most, const Name& name) {
    std::vector<std::string> items;
    for (const Row& row : rows.first(std::min(most, rows.size()))) {
        items.push_back(fmt::format("{} ({})", name(row), ratio_of(tally, row.sum)));
    }
    if (rows.size() > most) items.push_back(fmt::format("{} more", rows.size() - most));
    return listed(items);
}

}  // namespace

std::string percent(double ratio) {
    const double value = 100 * ratio;
    if (value != 0 && value < 0.995) return fmt::format("{:.2f} %", value);
    return value < 9.95 ? fmt::format("{:.1f} %", value) : fmt::format("{:.0f} %", value);
}

std::string number_of(std::uint64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string listed(std::span<const std::string> items) {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i > 0) text += i + 1 == items.size() ? " and " : ", ";
        text += items[i];
    }
    return text;
}

std::string busy_name(const Tally& tally) {
    const std::string_view selected = tally.profile().filter.empty() ? "" : "the selected ";
    switch (tally.judged_event().unit) {
        case WeightUnit::kNanoseconds: return fmt::format("{}busy CPU time", selected);
        case WeightUnit::kCycles: return fmt::format("{}busy cycles", selected);
        case WeightUnit::kEvents: break;
    }
    return fmt::format("{}busy samples", selected);
}

std::string amount(const Tally& tally, const Sum& sum) {
    std::string text = fmt::format("{} of {}", ratio_of(tally, sum), busy_name(tally));
    if (tally.is_clock()) return text + fmt::format(" ({:.3f} s)", static_cast<double>(sum.weight) / 1e9);
    return text + fmt::format(" ({})", number_of(sum.samples, "sample", "samples"));
}

std::string ratio_of(const Tally& tally, const Sum& sum) { return percent(tally.share(sum).ratio); }

std::string function_name(const Tally& tally, std::uint32_t function) {
    if (function == Tally::kNobody) return "[no caller]";
    const auto& known = tally.profile().functions[function];
    if (known.reason == UnknownReason::kNone) return known.name;
    return fmt::format("[unknown] in {}", base_name(known.dso));
}

std::string functions_listed(const Tally& tally, std::span<const Pairing> rows, std::size_t most) {
    return parts(tally, rows, most, [&](const Pairing& row) { return function_name(tally, row.function); });
}

std::vector<Pairing> by_other(std::span<const Pairing> rows) {
    std::vector<Pairing> sums(rows.begin(), rows.end());
    std::ranges::sort(sums, {}, &Pairing::other);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        if (kept > 0 && sums[kept - 1].other == sums[i].other) {
            sums[kept - 1].sum += sums[i].sum;
            continue;
        }
        sums[kept] = sums[i];
        sums[kept].function = sums[kept].other;
        ++kept;
    }
    sums.resize(kept);
    std::ranges::stable_sort(sums, std::greater{}, [](const Pairing& row) { return row.sum.weight; });
    return sums;
}

std::string tasks_listed(const Tally& tally, Trait trait, std::size_t most) {
    const auto tasks = tally.tasks_with(trait);
    return parts(tally, std::span(tasks), most,
                 [](const Tally::Task& task) { return task.comm.empty() ? "[no name]" : std::string(task.comm); });
}

Observation about(std::string_view id, Severity severity, const Tally& tally, const Sum& sum) {
    const Share share = tally.share(sum);
    Observation made{.id = std::string(id),
                     .severity = severity,
                     .at_least = share.interval.low,
                     .figures = {{"share", "", share.ratio},
                                 {"share_low", "", share.interval.low},
                                 {"share_high", "", share.interval.high},
                                 {"samples", "", static_cast<double>(sum.samples)}},
                     .evidence = {},
                     .meaning = {},
                     .remedy = {}};
    if (tally.is_clock()) made.figures.push_back({"cpu_seconds", "", static_cast<double>(sum.weight) / 1e9});
    return made;
}

void add_part(Observation& observation, const Tally& tally, std::string of, const Sum& sum) {
    observation.figures.push_back({"share", of, tally.share(sum).ratio});
    observation.figures.push_back({"samples", std::move(of), static_cast<double>(sum.samples)});
}

}  // namespace perfvigil::analyzer
