// SPDX-License-Identifier: GPL-2.0-or-later
// debug_kernel: a kernel instrumented for debugging, and what of that shows. Instrumentation that compilers inline is
// in no symbol, so the options it was built with count too.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/observations/host_state.hpp"
#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr double kShows = 0.01;
constexpr double kDistorts = 0.05;  // beyond it the ranking of kernel functions is another kernel's

// Options that slow the whole kernel wherever they are on. (KASAN_HW_TAGS is made for production; KMEMLEAK may be built
// in and off.)
constexpr std::string_view kHeavy[] = {"CONFIG_KASAN",         "CONFIG_KCSAN",
                                       "CONFIG_KMSAN",         "CONFIG_KCOV",
                                       "CONFIG_PROVE_LOCKING", "CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT",
                                       "CONFIG_SLUB_DEBUG_ON"};

bool asks_for(std::string_view value) { return value == "1" || value == "on" || value == "y"; }

// "CONFIG_KASAN=y" and "slub_debug=FZP": what says by itself that the kernel is slowed.
std::vector<std::string> settings_that_slow(const ProfileHost& host) {
    std::vector<std::string> found;
    for (const std::string_view option : kHeavy) {
        if (kernel_option(host, option) != "y") continue;
        if (option == "CONFIG_KASAN" && kernel_option(host, "CONFIG_KASAN_HW_TAGS") == "y") continue;
        found.push_back(fmt::format("{}=y", option));
    }
    for (const std::string_view name : {"slub_debug", "slab_debug"}) {
        const auto value = kernel_parameter(host, name);
        // "-" switches it off; ",cache" and "F,cache" concern single caches.
        if (value && *value != "-" && value->find(',') == std::string_view::npos) {
            found.push_back(value->empty() ? std::string(name) : fmt::format("{}={}", name, *value));
        }
    }
    for (const std::string_view name : {"page_poison", "debug_pagealloc"}) {
        const auto value = kernel_parameter(host, name);
        if (value && asks_for(*value)) found.push_back(fmt::format("{}={}", name, *value));
    }
    return found;
}

}  // namespace

void judge_debug_tax(const Tally& tally, Observations& found) {
    if (!tally.judged()) return;
    Sum all;
    std::vector<std::pair<Tax, Sum>> rows;
    for (std::size_t i = 0; i < kTaxes; ++i) {
        const auto tax = static_cast<Tax>(i);
        if (!is_debug(tax) || tally.tax(tax).samples == 0) continue;
        all += tally.tax(tax);
        rows.emplace_back(tax, tally.tax(tax));
    }
    const double low = tally.share(all).interval.low;
    const auto slowing = settings_that_slow(tally.profile().host);
    const bool seen = all.samples != 0 && low >= kShows;
    if (!seen && slowing.empty()) return;
    const auto severity = seen && low >= kDistorts ? Severity::kWarning : Severity::kNotice;
    auto made = about("debug_kernel", severity, tally, all);
    if (seen) {
        std::ranges::stable_sort(rows, std::greater{}, [](const auto& row) { return row.second.weight; });
        std::vector<std::string> names;
        for (const auto& [tax, sum] : rows) {
            names.push_back(fmt::format("{} {}", tax_name(tax), ratio_of(tally, sum)));
            add_part(made, tally, std::string(tax_name(tax)), sum);
        }
        made.evidence = fmt::format("{} is in debugging code of the kernel: {}.", amount(tally, all), listed(names));
    }
    if (!slowing.empty()) {
        made.evidence += fmt::format("{}The kernel was set up for debugging: {}.", made.evidence.empty() ? "" : " ",
                                     listed(slowing));
        made.figures.push_back({"debug_settings", "", static_cast<double>(slowing.size())});
    }
    made.meaning =
        "Where kernel time goes on this kernel is not where it goes on one for production. Checks that the "
        "compiler put inline are in the functions themselves and in no sum: a lower bound.";
    made.remedy = "Profile on the kernel that production runs; compare user code only.";
    found.push_back(std::move(made));
}

}  // namespace perfvigil::analyzer
