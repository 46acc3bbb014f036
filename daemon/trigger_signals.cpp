// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/trigger_signals.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "daemon/time_event.hpp"

namespace perfvigil::daemon {
namespace {

using Rule = config::TriggerRule;
using Signal = Rule::Signal;

constexpr std::array<std::string_view, 3> kResources{"cpu", "memory", "io"};

// All CPUs as one: its time is the sum of theirs.
analyzer::CpuSlice whole_host(const analyzer::Slice& slice) {
    analyzer::CpuSlice sum;
    for (const auto& cpu : slice.cpus) accumulate(sum, cpu);
    return sum;
}

Measure exact(double value) { return {value, value}; }

// `part` of `whole` samples, `scale` times.
std::optional<Measure> sampled(std::uint64_t part, double whole, double scale) {
    if (!(whole > 0)) return std::nullopt;
    const double k = std::min(static_cast<double>(part), whole);
    return Measure{scale * k / whole, scale * analyzer::wilson(k, whole, analyzer::kZ95).low};
}

std::optional<Measure> lost(const analyzer::Slice& slice) {
    double samples = 0;
    double missing = 0;
    for (const auto& event : slice.totals) {
        samples += static_cast<double>(event.samples);
        missing += static_cast<double>(event.lost);
    }
    if (!(samples + missing > 0)) return std::nullopt;
    return exact(missing / (samples + missing));
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" (Documentation/accounting/psi.rst).
std::optional<std::uint64_t> total_of(std::string_view text, std::string_view line_name) {
    while (!text.empty()) {
        const auto line = next_piece(text, '\n');
        constexpr std::string_view kTotal = " total=";
        const auto at = line.find(kTotal);
        if (!line.starts_with(std::string(line_name) + " ") || at == std::string_view::npos) continue;
        return parse_number<std::uint64_t>(trim(line.substr(at + kTotal.size())));
    }
    return std::nullopt;
}

}  // namespace

std::optional<double> TriggerSignals::pressure(std::string_view what, MonotonicTime at) {
    const auto resource = next_piece(what, ' ');
    const auto number = static_cast<std::size_t>(std::ranges::find(kResources, resource) - kResources.begin());
    auto& pressure = pressures_.at(2 * number + (what == "full" ? 1 : 0));
    if (pressure.read_at == at) return pressure.share;  // read for another rule of this slice
    const auto text = read_file(proc_ + "/pressure/" + std::string(resource), 4096);
    const auto total = text ? total_of(*text, what) : std::nullopt;
    const auto passed = std::chrono::duration<double, std::micro>(at - pressure.read_at).count();
    pressure.share.reset();
    if (total && pressure.total && *total >= *pressure.total && passed > 0) {
        pressure.share = std::min(1.0, static_cast<double>(*total - *pressure.total) / passed);
    }
    pressure.total = total;
    pressure.read_at = at;
    return pressure.share;
}

std::optional<double> TriggerSignals::load() const {
    const auto text = read_file(proc_ + "/loadavg", 4096);
    if (!text) return std::nullopt;
    double load = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), load);
    return error == std::errc{} ? std::optional(load) : std::nullopt;
}

std::vector<std::optional<Measure>> TriggerSignals::measure(std::span<const Rule> rules, const analyzer::Slice& slice,
                                                            const analyzer::SliceHotspots& hotspots,
                                                            const std::vector<collector::EventInfo>& events) {
    std::vector<std::optional<Measure>> measures(rules.size());
    if (rules.empty()) return measures;
    const auto host = whole_host(slice);
    const auto busy = analyzer::busy_of(host);
    const auto cpus = static_cast<double>(slice.cpus.size());
    const auto time_event = time_event_of(events);
    std::vector<std::uint64_t> parts(rules.size());
    std::uint64_t busy_samples = 0;
    for (const auto& row : hotspots.rows) {
        if (row.event != time_event) continue;
        busy_samples += row.samples;
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const auto& of = rules[i].of;
            const bool counts = (rules[i].signal == Signal::kFunction &&
                                 (row.function == of || function_names_.of(row.function) == of)) ||
                                (rules[i].signal == Signal::kUnit && row.unit == of);
            if (counts) parts[i] += row.samples;
        }
    }
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const auto& rule = rules[i];
        auto& measure = measures[i];
        switch (rule.signal) {
            case Signal::kCpuBusy:
                if (busy.known) measure = Measure{busy.ratio, busy.interval.low};
                break;
            case Signal::kFunction: measure = sampled(parts[i], static_cast<double>(busy_samples), 1); break;
            case Signal::kUnit: measure = sampled(parts[i], host.ticks_due, cpus); break;
            case Signal::kLoss: measure = lost(slice); break;
            case Signal::kPressure:
                if (const auto share = pressure(rule.of, slice.end)) measure = exact(*share);
                break;
            case Signal::kLoad:
            case Signal::kLoadPerCpu:
                if (const auto now = load()) {
                    measure = exact(rule.signal == Signal::kLoad || cpus == 0 ? *now : *now / cpus);
                }
                break;
        }
    }
    return measures;
}

}  // namespace perfvigil::daemon
