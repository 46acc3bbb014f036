// SPDX-License-Identifier: GPL-2.0-or-later
// broken_chains, truncated_chains, cut_chains, unmapped_callers: stacks whose outer ends are missing, and where.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kNamed = 5;

// A binary is named when, with 95 % confidence, one in ten of the chains through it breaks there; fewer happen to every
// binary, in function prologues. And when its broken chains are a hundredth of all: below it no table shows them.
constexpr double kBreaks = 0.1;
constexpr double kMatters = 0.01;
constexpr double kBreaksMuch = 0.1;  // of all chains

constexpr double kTruncated = 0.005;
constexpr double kTruncatedMuch = 0.05;
constexpr double kUnmapped = 0.02;
constexpr double kUnmappedMuch = 0.2;

void judge_broken(const Tally& tally, Observations& found) {
    if (!tally.judged()) return;
    const auto all = static_cast<double>(tally.busy().samples);
    std::vector<const BrokenStacks*> rows;
    double broken = 0;
    for (const auto& row : tally.profile().broken) {
        const auto breaks = static_cast<double>(row.broken);
        const auto through = static_cast<double>(row.samples);
        if (breaks < kMatters * all || !(wilson(std::min(breaks, through), through, kZ95).low >= kBreaks)) continue;
        rows.push_back(&row);
        broken += breaks;
    }
    if (rows.empty() || all <= 0) return;
    std::ranges::stable_sort(rows, std::greater{}, [](const auto* row) { return row->broken; });
    const double share = std::min(1.0, broken / all);
    Observation made{.id = "broken_chains",
                     .severity = share >= kBreaksMuch ? Severity::kNotice : Severity::kInfo,
                     .at_least = wilson(share * all, all, kZ95).low,
                     .figures = {{"broken_share", "", share}, {"broken", "", broken}},
                     .evidence = {},
                     .meaning =
                         "There the chain led to an address outside every mapping, so the callers further out "
                         "are unknown: these functions look like roots, and totals of their callers are too "
                         "small. Self times are right.",
                     .remedy =
                         "Build these binaries with -fno-omit-frame-pointer (and what they call through, such as "
                         "the C library), or record the one program with perf record --call-graph dwarf."};
    std::vector<std::string> names;
    for (const auto* row : std::span(rows).first(std::min(kNamed, rows.size()))) {
        const double of_its_own = static_cast<double>(row->broken) / static_cast<double>(row->samples);
        names.push_back(fmt::format("{} ({} of {} chains, {})", base_name(row->dso), row->broken, row->samples,
                                    percent(of_its_own)));
        made.figures.push_back({"broken_share", row->dso, of_its_own});
        made.figures.push_back({"broken", row->dso, static_cast<double>(row->broken)});
    }
    if (rows.size() > kNamed) names.push_back(fmt::format("{} more", rows.size() - kNamed));
    made.evidence = fmt::format("Call chains break off in {}.", listed(names));
    found.push_back(std::move(made));
}

// By the binary of the outermost function that was kept: where the depth ran out.
std::string outer_binaries(const Tally& tally, Observation& made) {
    boost::unordered_flat_map<std::string_view, Sum> sums;
    for (const auto& row : tally.truncated_at()) {
        sums[base_name(tally.profile().functions[row.function].dso)] += row.sum;
    }
    std::vector<std::pair<std::string_view, Sum>> rows(sums.begin(), sums.end());
    std::ranges::sort(rows, [](const auto& a, const auto& b) {
        return a.second.weight != b.second.weight ? a.second.weight > b.second.weight : a.first < b.first;
    });
    std::vector<std::string> names;
    for (const auto& [dso, sum] : std::span(rows).first(std::min(kNamed, rows.size()))) {
        names.push_back(fmt::format("{} ({})", dso, ratio_of(tally, sum)));
        add_part(made, tally, std::string(dso), sum);
    }
    return listed(names);
}

void judge_truncated(const Tally& tally, Observations& found) {
    const Sum sum = tally.truncated();
    const double low = tally.share(sum).interval.low;
    if (sum.samples == 0 || low < kTruncated) return;
    auto made = about("truncated_chains", low >= kTruncatedMuch ? Severity::kNotice : Severity::kInfo, tally, sum);
    made.evidence = fmt::format("{} is in chains as deep as the recorder allowed; they end in {}.", amount(tally, sum),
                                outer_binaries(tally, made));
    made.meaning =
        "Their outermost callers are missing, so these stacks have different roots for the same path, and "
        "totals of functions near the root are too small.";
    made.remedy =
        "Raise the depth: sysctl kernel.perf_event_max_stack, and --max-stack of the recorder; for copied stacks their "
        "size, --call-graph dwarf,BYTES.";
    found.push_back(std::move(made));
}

void judge_cut(const Tally& tally, Observations& found) {
    const Sum sum = tally.cut();
    if (sum.samples == 0) return;
    auto made = about("cut_chains", Severity::kInfo, tally, sum);
    made.evidence =
        fmt::format("{} is in chains that were shortened to stay within the memory for one slice.", amount(tally, sum));
    made.meaning = "Their outer callers are missing; self times are right.";
    made.remedy = "Shorter slices or a lower frequency need less memory.";
    found.push_back(std::move(made));
}

void judge_unmapped(const Tally& tally, Observations& found) {
    const Sum sum = tally.ends_unmapped();
    const Share share = Tally::share_of(sum, tally.with_callers());
    if (sum.samples == 0 || share.interval.low < kUnmapped) return;
    auto made = about("unmapped_callers", share.interval.low >= kUnmappedMuch ? Severity::kNotice : Severity::kInfo,
                      tally, sum);
    made.at_least = share.interval.low;
    made.figures.push_back({"share_of_chains", "", share.ratio});
    made.evidence =
        fmt::format("{} of the chains with callers end at an address in no known mapping.", percent(share.ratio));
    made.meaning =
        "Either the frame pointer led astray (code without frame pointers) or mappings of these processes "
        "were not recorded; the profile does not tell which. The callers further out are unknown.";
    made.remedy = "Record from before the program starts, and build it with -fno-omit-frame-pointer.";
    found.push_back(std::move(made));
}

}  // namespace

void judge_chains(const Tally& tally, Observations& found) {
    judge_broken(tally, found);
    if (!tally.judged()) return;
    judge_truncated(tally, found);
    judge_cut(tally, found);
    judge_unmapped(tally, found);
}

}  // namespace perfvigil::analyzer
