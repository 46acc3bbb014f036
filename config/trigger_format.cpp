// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/trigger_format.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace perfvigil::config {
namespace {

using Signal = TriggerRule::Signal;

constexpr std::size_t kLongestName = 40;
constexpr std::size_t kLongestOf = 1000;
constexpr Nanoseconds kLongestHold = Hours(1);
constexpr std::string_view kForm =
    "write NAME when SIGNAL > LIMIT for DURATION, such as saturated when cpu_busy > 95% "
    "for 1min";

bool is_load(Signal signal) { return signal == Signal::kLoad || signal == Signal::kLoadPerCpu; }
bool names_something(Signal signal) {
    return signal == Signal::kFunction || signal == Signal::kUnit || signal == Signal::kPressure;
}

// The most that can be: what lies above it would never come true.
double highest(Signal signal) {
    switch (signal) {
        case Signal::kCpuBusy:
        case Signal::kFunction:
        case Signal::kLoss:
        case Signal::kPressure: return 1;
        case Signal::kUnit: return 10000;
        case Signal::kLoad:
        case Signal::kLoadPerCpu: break;
    }
    return 1e6;
}

bool is_name(std::string_view name) {
    const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
    return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, plain);
}

// Text before the last `word` that stands by itself, and after it.
std::optional<std::pair<std::string_view, std::string_view>> cut_at_last(std::string_view text, std::string_view word) {
    const auto separator = " " + std::string(word) + " ";
    const auto at = text.rfind(separator);
    if (at == std::string_view::npos) return std::nullopt;
    return std::pair(trim(text.substr(0, at)), trim(text.substr(at + separator.size())));
}

Parsed<double> parse_level(Signal signal, std::string_view text) {
    const double most = highest(signal);
    double level = 0;
    if (is_load(signal)) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), level);
        if (error != std::errc{} || end != text.data() + text.size() || !(level >= 0)) {
            return refuse("\"" + escape(text) + "\" is no load", "write a number such as 8");
        }
    } else {
        const auto percent = PercentFormat{0, most}.parse(text);
        if (!percent) return percent;
        level = *percent;
    }
    if (level < most) return level;
    return refuse("over " + print_level(signal, level) + " it can never be",
                  "write less than " + print_level(signal, most));
}

Parsed<std::string> parse_of(Signal signal, std::string_view text) {
    const auto word = kTriggerSignalNames[static_cast<std::size_t>(signal)];
    if (!names_something(signal)) {
        if (text.empty()) return std::string();
        return refuse("\"" + escape(text) + "\" stands behind " + std::string(word) + ", which names nothing");
    }
    if (text.empty()) return refuse(std::string(word) + " of what is missing", std::string(kForm));
    if (text.size() > kLongestOf) return refuse(fmt::format("longer than {} bytes", kLongestOf));
    if (signal == Signal::kUnit) {
        if (text.contains('/') || text.contains(' ')) {
            return refuse("\"" + escape(text) + "\" is no unit", "write nginx.service");
        }
        return std::string(text) + (text.contains('.') ? "" : ".service");
    }
    if (signal == Signal::kFunction) return std::string(text);
    constexpr std::array<std::string_view, 6> kAll{"cpu some",    "cpu full", "memory some",
                                                   "memory full", "io some",  "io full"};
    const std::string wanted = std::string(text) + (text.contains(' ') ? "" : " some");
    if (std::ranges::find(kAll, wanted) != kAll.end()) return wanted;
    return refuse("there is no pressure of \"" + escape(text) + "\"",
                  "write cpu, memory or io, and some or full behind it");
}

}  // namespace

std::string print_level(Signal signal, double level) {
    return is_load(signal) ? fmt::format("{:g}", level) : PercentFormat{}.print(level);
}

Parsed<TriggerRule> TriggerRuleFormat::parse(std::string_view text) const {
    const auto in_rule = [&](const Complaint& complaint) {
        return refuse("rule \"" + escape(text.substr(0, 80)) + "\": " + complaint.why, complaint.suggestion);
    };
    TriggerRule rule;
    const auto when = trim(text).find(" when ");
    if (when == std::string_view::npos) return in_rule({"has no \"when\"", std::string(kForm)});
    rule.name = trim(trim(text).substr(0, when));
    auto rest = trim(trim(text).substr(when + std::string_view(" when ").size()));
    if (!is_name(rule.name)) {
        return in_rule({fmt::format("\"{}\" is no name", escape(rule.name)),
                        fmt::format("write up to {} of a-z, 0-9, - and _", kLongestName)});
    }
    const auto compared = cut_at_last(rest, ">");
    if (!compared) return in_rule({"has no \">\"", std::string(kForm)});
    auto [what, limit] = *compared;
    const auto word = next_piece(what, ' ');
    const auto signal = std::ranges::find(kTriggerSignalNames, word);
    if (signal == kTriggerSignalNames.end()) {
        return in_rule({fmt::format("\"{}\" is not known", escape(word)),
                        fmt::format("write one of {}", fmt::join(kTriggerSignalNames, ", "))});
    }
    rule.signal = static_cast<Signal>(signal - kTriggerSignalNames.begin());
    auto of = parse_of(rule.signal, trim(what));
    if (!of) return in_rule(of.error());
    rule.of = std::move(*of);
    if (const auto held = cut_at_last(limit, "for")) {
        const auto hold = DurationFormat{Seconds(1), kLongestHold}.parse(held->second);
        if (!hold) return in_rule(hold.error());
        rule.hold = *hold;
        limit = held->first;
    }
    const auto level = parse_level(rule.signal, limit);
    if (!level) return in_rule(level.error());
    rule.above = *level;
    return rule;
}

std::string TriggerRuleFormat::print(const TriggerRule& rule) const {
    std::string text = rule.name + " when " + std::string(kTriggerSignalNames[static_cast<std::size_t>(rule.signal)]);
    if (!rule.of.empty()) text += " " + rule.of;
    text += " > " + print_level(rule.signal, rule.above);
    if (rule.hold > Nanoseconds{}) text += " for " + DurationFormat{}.print(rule.hold);
    return text;
}

}  // namespace perfvigil::config
