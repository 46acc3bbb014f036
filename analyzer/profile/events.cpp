// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/events.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace perfvigil::analyzer {

using collector::EventIndex;
using collector::EventInfo;

namespace {

// PMUs that sample something else than instructions' counters, so that equal words behind their names mean different
// things; and "cpu", which is there where all cores are alike.
bool is_of_cores(std::string_view pmu) {
    constexpr std::array<std::string_view, 6> kOthers{"uncore", "ibs_", "arm_spe", "intel_pt", "cs_etm", "hisi_"};
    const auto in_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '.';
    };
    return !pmu.empty() && pmu != "cpu" && std::ranges::all_of(pmu, in_name) &&
           std::ranges::none_of(kOthers, [&](std::string_view other) { return pmu.starts_with(other); });
}

// The PMUs of cores other than x86's have a type of their own, and only their names say what they count.
bool counts_cycles(const EventInfo& info, const HybridName& name) {
    if (info.attr.type == collector::kTypeHardware) {
        return (info.attr.config & 0xffffffffU) == collector::kHwCpuCycles;
    }
    const auto event = std::string_view(name.event).substr(0, name.event.find_first_of(":,"));
    return event == "cycles" || event == "cpu_cycles" || event == "cpu-cycles";
}

}  // namespace

HybridName hybrid_name(std::string_view name) {
    const auto slash = name.find('/');
    if (slash == std::string_view::npos) return {};
    const auto pmu = name.substr(0, slash);
    const auto end = name.rfind('/');
    if (end <= slash + 1 || !is_of_cores(pmu)) return {};
    HybridName hybrid{.pmu = pmu, .event = std::string(name.substr(slash + 1, end - slash - 1))};
    // Modifiers may stand inside or behind: "cpu_core/cycles:u/", "cpu_core/cycles/u".
    if (end + 1 < name.size()) hybrid.event += ':' + std::string(name.substr(end + 1));
    return hybrid;
}

std::uint32_t ProfileEvents::number_of(EventIndex event) {
    while (numbers_.size() < events_->size()) add(EventIndex{static_cast<std::uint32_t>(numbers_.size())});
    return event.value < numbers_.size() ? numbers_[event.value] : kNone;
}

void ProfileEvents::add(EventIndex index) {
    const EventInfo& info = (*events_)[index.value];
    if (info.role != collector::EventRole::kSampling) {
        numbers_.push_back(kNone);
        return;
    }
    const HybridName hybrid = hybrid_name(info.name);
    if (!split_hybrid_ && !hybrid.pmu.empty()) {
        const auto same = std::ranges::find_if(rows_, [&](const Row& row) {
            const bool counted = std::ranges::find(row.core_pmus, hybrid.pmu) != row.core_pmus.end();
            return !row.core_pmus.empty() && !counted &&
                   hybrid_name((*events_)[row.index.value].name).event == hybrid.event;
        });
        if (same != rows_.end()) {
            same->core_pmus.emplace_back(hybrid.pmu);
            same->event.name = hybrid.event;
            numbers_.push_back(static_cast<std::uint32_t>(same - rows_.begin()));
            return;
        }
    }
    const Nanoseconds period = info.nominal_period();
    Row row{.event = {.name = info.name,
                      .unit = period.count() > 0
                                  ? WeightUnit::kNanoseconds
                                  : (counts_cycles(info, hybrid) ? WeightUnit::kCycles : WeightUnit::kEvents),
                      .frequency_mode = info.attr.freq(),
                      .rate = info.attr.sample_period_or_freq,
                      .nominal_period = period},
            .index = index,
            .core_pmus = {}};
    if (!split_hybrid_ && !hybrid.pmu.empty()) row.core_pmus.emplace_back(hybrid.pmu);
    numbers_.push_back(static_cast<std::uint32_t>(rows_.size()));
    rows_.push_back(std::move(row));
}

void ProfileEvents::add(std::uint32_t number, const EventTotals& more) {
    ProfileEvent& sum = rows_[number].event;
    sum.samples += more.samples;
    sum.weight += more.weight;
    sum.lost += more.lost;
    sum.lost_is_shared |= more.lost_is_shared;
    if (more.nominal_period.count() <= 0 || more.nominal_period == sum.nominal_period) return;
    sum.nominal_period = more.nominal_period;
    const auto period = static_cast<std::uint64_t>(more.nominal_period.count());
    // The kernel truncates 10^9 / F; the nearest whole F is what was asked for.
    sum.rate = sum.frequency_mode ? (1'000'000'000 + period / 2) / period : period;
}

void ProfileEvents::add_whole(std::uint32_t number, const EventTotals& more) {
    rows_[number].event.whole_samples += more.samples + more.left_out_samples;
    rows_[number].event.whole_weight += more.weight + more.left_out_weight;
}

std::vector<ProfileEvent> ProfileEvents::take() {
    (void)number_of({});
    std::vector<ProfileEvent> events;
    events.reserve(rows_.size());
    for (auto& row : rows_) events.push_back(std::move(row.event));
    clear();
    return events;
}

void ProfileEvents::clear() {
    rows_.clear();
    numbers_.clear();
}

}  // namespace perfvigil::analyzer
