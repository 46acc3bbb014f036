// SPDX-License-Identifier: GPL-2.0-or-later
// module_symbols_at_risk: names of module functions that depend on where the loader put the module's sections.
// Names looked up by runtime address (kallsyms: what perfvigil does) are right in any case; names computed from a .ko
// are right only where its text is one piece.
// module_symbol_gaps: code of modules behind the end of every symbol; by kallsyms, which has no sizes, it would have
// the name of the function in front. module_inlines_at_risk: frames that another tool took from a module's debug
// information as calls that were inlined.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyzer/input/dso_name.hpp"
#include "analyzer/observations/host_state.hpp"
#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr double kShows = 0.01;
// Where the layout is unknown and the names are somebody else's: only if modules carry the conclusions.
constexpr double kShowsMuch = 0.05;
constexpr std::size_t kMostNamed = 5;

std::string_view module_of(const ProfileFunction& function) {
    return function.kernel ? kernel_module_of(function.dso) : std::string_view();
}

// Which samples: those in functions with a name, or those without one in a module that has names.
std::map<std::string_view, Sum> module_sums(const Tally& tally, UnknownReason reason = UnknownReason::kNone) {
    std::map<std::string_view, Sum> sums;
    const auto& functions = tally.profile().functions;
    for (std::uint32_t i = 0; i < functions.size(); ++i) {
        if (tally.self_of(i).samples == 0 || functions[i].reason != reason) continue;
        if (const auto module = module_of(functions[i]); !module.empty()) sums[module] += tally.self_of(i);
    }
    return sums;
}

bool is_our_recording(const Profile& profile) { return profile.host.recorder.starts_with("perfvigil"); }

void add_split(const Tally& tally, const std::map<std::string_view, Sum>& sums, Observations& found) {
    Sum at_risk;
    std::vector<std::string> names;
    std::vector<Figure> figures;
    for (const auto& [module, sum] : sums) {
        const auto sections = setting(tally.profile().host, fmt::format("split_text.{}", module));
        if (sections.empty()) continue;
        at_risk += sum;
        names.push_back(fmt::format("{} ({} text sections, {})", module, sections, ratio_of(tally, sum)));
        figures.push_back({"text_sections", std::string(module),
                           static_cast<double>(parse_number<std::uint64_t>(sections).value_or(0))});
    }
    if (at_risk.samples == 0 || tally.share(at_risk).interval.low < kShows) return;
    auto made = about("module_symbols_at_risk", Severity::kNotice, tally, at_risk);
    made.figures.insert(made.figures.end(), figures.begin(), figures.end());
    made.evidence = fmt::format("{} is in modules whose functions lie in sections of their own: {}.",
                                amount(tally, at_risk), listed(names));
    made.meaning = is_our_recording(tally.profile())
                       ? "The names here are by runtime address and right. Tools that compute names from the .ko file, "
                         "as perf report does, may give other functions' names for the same samples."
                       : "The loader places each section by itself: names that were computed from the .ko file may be "
                         "those of other functions.";
    made.remedy =
        "For perf make a full copy of that boot's symbols (perfvigil kallsyms --full) and keep it from the .ko files: "
        "perf "
        "report --kallsyms=/tmp/full.txt --symfs=/an/empty/folder.";
    found.push_back(std::move(made));
}

void add_unverified(const Tally& tally, const std::map<std::string_view, Sum>& sums, Observations& found) {
    const Profile& profile = tally.profile();
    if (is_our_recording(profile) || !setting(profile.host, "module_sections").empty()) return;
    Sum all;
    for (const auto& [module, sum] : sums) all += sum;
    if (all.samples == 0 || tally.share(all).interval.low < kShowsMuch) return;
    auto made = about("module_symbols_unverified", Severity::kInfo, tally, all);
    std::vector<std::string> names;
    for (const auto& [module, sum] : sums) {
        if (names.size() == kMostNamed) break;
        names.push_back(fmt::format("{} ({})", module, ratio_of(tally, sum)));
        add_part(made, tally, std::string(module), sum);
    }
    made.evidence = fmt::format("{} is in kernel modules: {}.", amount(tally, all), listed(names));
    made.meaning =
        "The recording does not say how these modules were laid out in memory. Names computed from a .ko "
        "file are those of other functions where its text is split into sections.";
    made.remedy =
        "On that host count ls /sys/module/NAME/sections/.text.*: with more than a few, take names from a "
        "full copy of /proc/kallsyms (perf report --kallsyms=/tmp/full.txt --symfs=/an/empty/folder).";
    found.push_back(std::move(made));
}

void add_gaps(const Tally& tally, Observations& found) {
    const auto sums = module_sums(tally, UnknownReason::kOutsideSymbols);
    Sum all;
    std::vector<std::string> names;
    for (const auto& [module, sum] : sums) all += sum;
    if (all.samples == 0 || tally.share(all).interval.low < kShows) return;
    auto made = about("module_symbol_gaps", Severity::kNotice, tally, all);
    for (const auto& [module, sum] : sums) {
        add_part(made, tally, std::string(module), sum);
        if (names.size() < kMostNamed) names.push_back(fmt::format("{} ({})", module, ratio_of(tally, sum)));
    }
    made.evidence =
        fmt::format("{} is in kernel modules, where no symbol covers the code: {}.", amount(tally, all), listed(names));
    made.meaning =
        "These addresses lie behind the end of the symbol in front of them, so they are shown without a name. Tools "
        "that "
        "know no sizes (kallsyms has none) show them as that function, with an offset beyond its end.";
    made.remedy =
        "Read no function's name into them. The module's own debug symbols of the same build, or its assembly, say "
        "what "
        "lies there.";
    found.push_back(std::move(made));
}

// perf script marks frames that it made of debug information; ProfileImport counts those of modules.
void add_inlines(const Tally& tally, Observations& found) {
    constexpr std::string_view kSetting = "module_inlines.";
    std::vector<std::string> names;
    std::uint64_t frames = 0;
    for (const auto& [name, value] : tally.profile().host.settings) {
        if (!name.starts_with(kSetting)) continue;
        const auto count = parse_number<std::uint64_t>(value).value_or(0);
        frames += count;
        if (names.size() < kMostNamed) names.push_back(fmt::format("{} ({})", name.substr(kSetting.size()), count));
    }
    if (frames == 0) return;
    Sum all;
    for (const auto& [module, sum] : module_sums(tally)) all += sum;
    auto made = about("module_inlines_at_risk", Severity::kInfo, tally, all);
    made.figures.push_back({"inlined_frames", {}, static_cast<double>(frames)});
    made.evidence =
        fmt::format("{} of kernel modules {}, taken from debug information: {}.", number_of(frames, "frame", "frames"),
                    frames == 1 ? "is an inlined call" : "are inlined calls", listed(names));
    made.meaning =
        "Such frames are computed from the .ko as if its text were one piece. Where its sections were placed one by "
        "one "
        "they are those of other functions, in chains whose other frames are right.";
    made.remedy = "Compare with chains without them: perf script --no-inline, perf report --no-inline.";
    found.push_back(std::move(made));
}

}  // namespace

void judge_modules(const Tally& tally, Observations& found) {
    if (!tally.judged()) return;
    add_gaps(tally, found);
    add_inlines(tally, found);
    const auto sums = module_sums(tally);
    if (sums.empty()) return;
    add_split(tally, sums, found);
    add_unverified(tally, sums, found);
}

}  // namespace perfvigil::analyzer
