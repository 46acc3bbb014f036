// SPDX-License-Identifier: GPL-2.0-or-later
// module_symbols_at_risk: names of module functions that depend on where the loader put the module's sections.
// Names looked up by runtime address (kallsyms: what perfvigil does) are right in any case; names computed from a .ko
// are right only where its text is one piece.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyzer/observations/host_state.hpp"
#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr double kShows = 0.01;
// Where the layout is unknown and the names are somebody else's: only if modules carry the conclusions.
constexpr double kShowsMuch = 0.05;

// "[nfsd]" and "/lib/modules/…/nfsd.ko.xz" → "nfsd"; nothing for the kernel's own image and for BPF.
std::string_view module_of(const ProfileFunction& function) {
    if (!function.kernel) return {};
    std::string_view name = base_name(function.dso);
    if (const auto file = name.find(".ko"); file != std::string_view::npos && file != 0) return name.substr(0, file);
    if (!name.starts_with('[') || !name.ends_with(']')) return {};
    name = name.substr(1, name.size() - 2);
    const bool other = name.starts_with("kernel") || name.starts_with("guest") || name.starts_with("__builtin__") ||
                       name == "bpf" || name == "vdso" || name == "hypervisor" || name == "unknown" || name == "cut" ||
                       name == "vmlinux" || name == "vsyscall";
    return other ? std::string_view() : name;
}

std::map<std::string_view, Sum> module_sums(const Tally& tally) {
    std::map<std::string_view, Sum> sums;
    const auto& functions = tally.profile().functions;
    for (std::uint32_t i = 0; i < functions.size(); ++i) {
        if (tally.self_of(i).samples == 0 || functions[i].reason != UnknownReason::kNone) continue;
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
        "For perf give a full copy of /proc/kallsyms of that boot under another name than kallsyms: perf "
        "report --kallsyms=/tmp/full.txt.";
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
        if (names.size() == 5) break;
        names.push_back(fmt::format("{} ({})", module, ratio_of(tally, sum)));
        add_part(made, tally, std::string(module), sum);
    }
    made.evidence = fmt::format("{} is in kernel modules: {}.", amount(tally, all), listed(names));
    made.meaning =
        "The recording does not say how these modules were laid out in memory. Names computed from a .ko "
        "file are those of other functions where its text is split into sections.";
    made.remedy =
        "On that host count ls /sys/module/NAME/sections/.text.*: with more than a few, take names from a "
        "full copy of /proc/kallsyms (perf report --kallsyms=/tmp/full.txt).";
    found.push_back(std::move(made));
}

}  // namespace

void judge_modules(const Tally& tally, Observations& found) {
    if (!tally.judged()) return;
    const auto sums = module_sums(tally);
    if (sums.empty()) return;
    add_split(tally, sums, found);
    add_unverified(tally, sums, found);
}

}  // namespace perfvigil::analyzer
