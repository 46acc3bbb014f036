// SPDX-License-Identifier: GPL-2.0-or-later
// lost_callers: a function without a frame of its own hides who called it. The kernel follows frame pointers: the
// sampled address is the function's, the first return address found is that of its caller's frame, so the caller itself
// is passed over.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr double kShows = 0.01;
constexpr double kShowsMuch = 0.05;
// Proof by main: one in a hundred programs may leave main by a jump; more are skipped callers.
constexpr double kProves = 0.01;

Sum sum_of(std::span<const Pairing> rows) {
    Sum sum;
    for (const auto& row : rows) sum += row.sum;
    return sum;
}

bool followed_frame_pointers_for_certain(const Profile& profile) {
    return profile.host.recorder.starts_with("perfvigil");  // which records in no other way
}

void judge_string_routines(const Tally& tally, Observations& found) {
    const auto rows = tally.frameless_callers();
    const Sum sum = sum_of(rows);
    const double low = tally.share(sum).interval.low;
    if (sum.samples == 0 || low < kShows) return;
    auto made = about("lost_callers", low >= kShowsMuch ? Severity::kNotice : Severity::kInfo, tally, sum);
    std::vector<std::string> shown;
    for (const auto& row : std::span(rows).first(std::min<std::size_t>(3, rows.size()))) {
        shown.push_back(fmt::format("{} under {} ({})", function_name(tally, row.function),
                                    function_name(tally, row.other), ratio_of(tally, row.sum)));
        add_part(made, tally, function_name(tally, row.function), row.sum);
    }
    made.evidence = fmt::format("{} is in string routines of the C library that set up no frame: {}.",
                                amount(tally, sum), listed(shown));
    const std::string_view when = followed_frame_pointers_for_certain(tally.profile())
                                      ? "This recording followed frame pointers: "
                                      : "If the chains were followed by frame pointers (not by dwarf or lbr), ";
    made.meaning = fmt::format(
        "{}what stands above such a routine is its caller's caller. The caller itself is "
        "missing from these stacks and from their callers' tables.",
        when);
    made.remedy =
        "Take the callers of these routines as one level too far out; perf record --call-graph dwarf or lbr "
        "shows them.";
    found.push_back(std::move(made));
}

void judge_main(const Tally& tally, Observations& found) {
    const auto rows = tally.in_place_of_main();
    const Sum sum = sum_of(rows);
    const Share share = Tally::share_of(sum, tally.under_main_caller());
    if (sum.samples == 0 || share.interval.low < kProves) return;
    auto made = about("skipped_callers", Severity::kNotice, tally, sum);
    made.at_least = share.interval.low;
    made.figures.push_back({"share_of_main_chains", "", share.ratio});
    for (const auto& row : std::span(rows).first(std::min<std::size_t>(3, rows.size()))) {
        add_part(made, tally, function_name(tally, row.function), row.sum);
    }
    made.evidence =
        fmt::format("{} of the chains that reach {} show it calling {}, though it calls nothing but main.",
                    percent(share.ratio), function_name(tally, rows.front().other), functions_listed(tally, rows, 3));
    made.meaning =
        "Callers are missing from these stacks (or main left by a jump): functions that set up no frame of "
        "their own, or were sampled before they had, hide the one that called them.";
    made.remedy =
        "Build with -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer, or record with perf record "
        "--call-graph dwarf.";
    found.push_back(std::move(made));
}

}  // namespace

void judge_frameless_callers(const Tally& tally, Observations& found) {
    if (!tally.judged()) return;
    judge_string_routines(tally, found);
    judge_main(tally, found);
}

}  // namespace perfvigil::analyzer
