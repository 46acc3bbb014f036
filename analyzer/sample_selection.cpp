// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/sample_selection.hpp"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr double kMaxSeconds = 1e9;  // times in nanoseconds stay far from overflow

struct Bound {
    double value = 0;
    TimeRange::Unit unit = TimeRange::Unit::kSeconds;
};

std::optional<double> parse_decimal(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<Bound> parse_bound(std::string_view text) {
    struct Suffix {
        std::string_view text;
        double factor;
    };
    // Longer ones first: "ms" ends in "s".
    constexpr std::array<Suffix, 5> kSuffixes{{{"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"s", 1}, {"", 1}}};
    Bound bound;
    double factor = 1;
    if (text.ends_with('%')) {
        text.remove_suffix(1);
        bound.unit = TimeRange::Unit::kPercent;
    } else {
        for (const auto& suffix : kSuffixes) {
            if (!text.ends_with(suffix.text)) continue;
            text.remove_suffix(suffix.text.size());
            factor = suffix.factor;
            break;
        }
    }
    const auto number = parse_decimal(trim(text));
    if (!number || !(*number >= 0) || *number * factor > kMaxSeconds) return std::nullopt;
    bound.value = *number * factor;
    if (bound.unit == TimeRange::Unit::kPercent && bound.value > 100) return std::nullopt;
    return bound;
}

template <class Id>
void append_list(std::string& text, std::string_view option, const std::vector<Id>& ids) {
    if (ids.empty()) return;
    if (!text.empty()) text += ' ';
    text += option;
    char separator = ' ';
    for (const Id id : ids) {
        text += std::exchange(separator, ',') + fmt::to_string(id.value);
    }
}

}  // namespace

Result<TimeRange> parse_time_range(std::string_view text) {
    const auto refuse = [&](std::string_view why) {
        return fail(ErrorCode::kInvalid, fmt::format("'{}' is no time range: {}", escape(text), why));
    };
    constexpr std::string_view kHow = "write FROM..TO, as 10s..20s or 5%..50%; either end may be left out";
    const auto dots = text.find("..");
    if (dots == std::string_view::npos) return refuse(kHow);
    const auto first = trim(text.substr(0, dots));
    const auto second = trim(text.substr(dots + 2));
    if (first.empty() && second.empty()) return refuse(kHow);
    const auto from = parse_bound(first);
    const auto to = parse_bound(second);
    if ((!first.empty() && !from) || (!second.empty() && !to)) return refuse(kHow);
    if (from && to && from->unit != to->unit) return refuse("one end is in percent, the other is not");
    if (from && to && from->value >= to->value) return refuse("it ends before it begins");
    TimeRange range;
    range.unit = from ? from->unit : to->unit;
    if (from) range.from = from->value;
    if (to) range.to = to->value;
    return range;
}

std::string to_text(const TimeRange& range) {
    const std::string_view unit = range.unit == TimeRange::Unit::kPercent ? "%" : "s";
    auto text = fmt::format("{}{}..", range.from, unit);
    if (range.to) text += fmt::format("{}{}", *range.to, unit);
    return text;
}

bool CgroupSelection::takes(std::string_view cgroup) const {
    if (!path.empty()) {
        return cgroup.starts_with(path) && (cgroup.size() == path.size() || cgroup[path.size()] == '/');
    }
    for (auto rest = cgroup; !rest.empty();) {
        if (next_piece(rest, '/') == unit) return true;
    }
    return false;
}

std::string SampleSelection::text() const {
    std::string text;
    if (time) text = "--time " + to_text(*time);
    append_list(text, "--cpu", cpus);
    append_list(text, "--pid", pids);
    append_list(text, "--tid", tids);
    if (cgroup) {
        if (!text.empty()) text += ' ';
        text += cgroup->path.empty() ? "--unit " + cgroup->unit : "--cgroup " + cgroup->path;
    }
    return text;
}

}  // namespace perfvigil::analyzer
