// SPDX-License-Identifier: GPL-2.0-or-later
// Who called the hot functions and what they call, as lines of a tree.
#include <algorithm>

#include <fmt/core.h>

#include "analyzer/chain_ends.hpp"
#include "analyzer/function_label.hpp"
#include "analyzer/hot_functions.hpp"
#include "analyzer/report/text.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kMostFunctions = 10;
constexpr std::size_t kMostCallees = 3;
constexpr std::size_t kNameInSentence = 48;

double percent_limit(const ReportOptions& options) { return options.percent_limit.value_or(kLeastPathPercent); }

std::string name_of(const ProfileFunction& function) {
    if (function.reason == UnknownReason::kNone) return escape(function_label(function));
    return fmt::format("[unknown in {}]", escape(base_name(function.dso)));
}

enum class Direction : std::uint8_t { kCallers, kCallees };

class PathLines {
public:
    PathLines(TextPage& page, const Profile& profile, std::uint64_t whole, Direction direction)
        : page_(page), profile_(profile), whole_(whole), arrow_(direction == Direction::kCallers ? " ← " : " → ") {}

    void add(const PathRow& row) {
        std::string text = start_of(row.weight, row.samples, row.depth);
        std::size_t used = display_width(text);
        const std::size_t hanging = used + 2;
        const auto names = names_of(row, hanging);
        for (std::size_t i = 0; i < names.size(); ++i) {
            const auto columns = display_width(names[i]) + display_width(arrow_);
            if (i > 0 && page_.width() != 0 && used + columns > page_.width()) {
                page_.line(text);
                text.assign(hanging - 1, ' ');
                used = hanging - 1;
            }
            text += arrow_ + names[i];
            used += columns;
        }
        page_.line(text);
    }

    void add(std::uint64_t weight, std::uint64_t samples, std::string_view what) {
        if (samples != 0) page_.line(start_of(weight, samples, 0) + " " + std::string(what));
    }

private:
    // A run longer than this shows both ends; on a terminal it would push everything else off the page.
    static constexpr std::size_t kMostNames = 8;
    static constexpr std::size_t kMostNamesUncut = 24;
    static constexpr std::size_t kLastNames = 2;

    [[nodiscard]] std::string start_of(std::uint64_t weight, std::uint64_t samples, std::uint32_t depth) const {
        return fmt::format("  {:>7} {:>8} {}", percent(weight, whole_), samples,
                           std::string(2 * std::size_t{depth}, ' '));
    }

    // A function that calls itself stands there once: "walk ×7".
    [[nodiscard]] std::vector<std::string> names_of(const PathRow& row, std::size_t hanging) const {
        const auto room = page_.width() == 0
                              ? std::string::npos
                              : std::max<std::size_t>(page_.width() - std::min(page_.width(), hanging + 3), 16);
        std::vector<std::string> names;
        const auto& functions = row.functions;
        for (std::size_t i = 0; i < functions.size();) {
            std::size_t end = i + 1;
            while (end < functions.size() && functions[end] == functions[i]) ++end;
            const auto times = end - i > 1 ? fmt::format(" ×{}", end - i) : std::string();
            names.push_back(shorten(name_of(profile_.functions[functions[i]]), room) + times);
            i = end;
        }
        const auto most = page_.width() == 0 ? kMostNamesUncut : kMostNames;
        if (names.size() > most) {
            const auto cut = names.size() - most;
            const auto from = names.begin() + static_cast<std::ptrdiff_t>(most - kLastNames);
            names.erase(from, from + static_cast<std::ptrdiff_t>(cut));
            names.insert(names.end() - kLastNames, fmt::format("({} more)", cut));
        }
        if (row.goes_on) names.emplace_back("…");
        return names;
    }

    TextPage& page_;
    const Profile& profile_;
    const std::uint64_t whole_;
    const std::string arrow_;
};

// "self 34.20 %, in its callees 5.90 %: clear_page 3.10, copy_page 2.80"
std::string self_and_callees(const Profile& profile, const HotFunction& hot, std::uint64_t event_weight) {
    const auto below = hot.totals.total_weight - hot.totals.self_weight;
    auto text = fmt::format("self {} %", percent(hot.totals.self_weight, event_weight));
    if (below == 0) return text + ", calls nothing that was sampled";
    text += fmt::format(", in its callees {} %", percent(below, event_weight));
    char separator = ':';
    for (std::size_t i = 0; i < std::min(hot.callees.size(), kMostCallees); ++i) {
        text += fmt::format("{} {} {}", separator,
                            shorten(name_of(profile.functions[hot.callees[i].function]), kNameInSentence),
                            percent(hot.callees[i].weight, event_weight));
        separator = ',';
    }
    if (hot.callees.size() > kMostCallees) text += fmt::format(" and {} more", hot.callees.size() - kMostCallees);
    return text;
}

void write_hot_function(TextPage& page, const Profile& profile, const HotFunction& hot, std::uint64_t event_weight) {
    const auto& function = profile.functions[hot.totals.function];
    page.line("");
    page.sentence(fmt::format("{}  {}: {}", name_of(function), escape(base_name(function.dso)),
                              self_and_callees(profile, hot, event_weight)),
                  2);
    PathLines lines(page, profile, hot.totals.self_weight, Direction::kCallers);
    for (const auto& row : hot.callers.rows) lines.add(row);
    lines.add(hot.callers.hidden_weight, hot.callers.hidden_samples, "smaller paths");
    lines.add(hot.callers.root_end_weight, hot.callers.root_end_samples, "without a caller");
}

std::string names_in_focus(const Profile& profile, const Focus& focus) {
    constexpr std::size_t kMostNames = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(focus.functions.size(), kMostNames); ++i) {
        const auto& function = profile.functions[focus.functions[i]];
        text += fmt::format("{}{}  {}", i == 0 ? "" : ", ", name_of(function), escape(base_name(function.dso)));
    }
    if (focus.functions.size() > kMostNames) text += fmt::format(" and {} more", focus.functions.size() - kMostNames);
    return text;
}

void write_focus_of_event(TextPage& page, const Profile& profile, const ReportOptions& options, std::uint32_t event,
                          const Focus& focus) {
    write_event_head(page, profile, options, event);
    const auto whole = event_sum(profile.events[event], options.idle).weight;
    if (focus.functions.empty()) {
        page.line("  no sample with it on the stack");
        return;
    }
    const auto& totals = focus.totals;
    page.line("");
    page.sentence(names_in_focus(profile, focus), 2);
    page.sentence(fmt::format("self {} % of the event ({} samples), with its callees {} % ({} samples)",
                              percent(totals.self_weight, whole), totals.self_samples,
                              percent(totals.total_weight, whole), totals.total_samples),
                  4);
    page.line("");
    page.sentence(fmt::format("Callers, percent of the {} samples with it on the stack", totals.total_samples), 2);
    PathLines callers(page, profile, totals.total_weight, Direction::kCallers);
    for (const auto& row : focus.callers.rows) callers.add(row);
    callers.add(focus.callers.hidden_weight, focus.callers.hidden_samples, "smaller paths");
    callers.add(focus.callers.root_end_weight, focus.callers.root_end_samples, "without a caller");
    page.line("");
    page.line("  Callees, percent of the same");
    PathLines callees(page, profile, totals.total_weight, Direction::kCallees);
    callees.add(focus.callees.root_end_weight, focus.callees.root_end_samples, "itself");
    for (const auto& row : focus.callees.rows) callees.add(row);
    callees.add(focus.callees.hidden_weight, focus.callees.hidden_samples, "smaller paths");
}

}  // namespace

void write_call_chains(TextPage& page, const Profile& plain, const ReportOptions& options, std::uint32_t event,
                       EventSum shown, const std::vector<FunctionTotals>& totals) {
    const Profile profile = with_marked_ends(plain, MarkedEnds::kMissing);
    const auto least = percent_limit(options) / 100 * static_cast<double>(shown.weight);
    const auto most = options.top == 0 ? kMostFunctions : std::min(options.top, kMostFunctions);
    const auto hot = hot_functions(profile, event, options.idle, totals, most, least,
                                   {.least_share = percent_limit(options) / 100, .most_rows = 6});
    if (hot.empty()) return;
    page.line("");
    page.sentence(fmt::format("Call chains of the hottest functions. Callers: percent of the samples in the function "
                              "itself; paths under {:g} % left out.",
                              percent_limit(options)),
                  0);
    for (const auto& function : hot) write_hot_function(page, profile, function, shown.weight);
}

void write_focus(TextPage& page, const Profile& plain, const ReportOptions& options) {
    const Profile profile = with_marked_ends(plain, MarkedEnds::kMissing);
    const auto by_event = focus_on(profile, options.focus, options.idle,
                                   {.least_share = percent_limit(options) / 100, .most_rows = 40, .most_depth = 32});
    const bool found = std::ranges::any_of(by_event, [](const Focus& focus) { return !focus.functions.empty(); });
    if (!found) {
        page.line("");
        page.sentence(escape(focus_matches_nothing(profile, options.focus)), 0);
        return;
    }
    for (std::uint32_t i = 0; i < by_event.size(); ++i) {
        if (profile.events[i].samples != 0) write_focus_of_event(page, profile, options, i, by_event[i]);
    }
}

}  // namespace perfvigil::analyzer
