// SPDX-License-Identifier: GPL-2.0-or-later
// security_tax and its parts: what mitigations and hardening cost on this host, by the state it recorded of itself.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

// One kind is named from here on; the total when it is worth a decision.
constexpr double kShows = 0.005;
constexpr double kShowsMuch = 0.02;
constexpr double kTotalShows = 0.01;
constexpr double kTotalMuch = 0.05;

struct Text {
    std::string_view what;     // "… is spent …"
    std::string_view meaning;  // what is bought, and what the number leaves out
    std::string_view remedy;
};

constexpr std::string_view kLowerBound =
    " The mispredicted returns and jumps it causes are charged to its callers: a lower bound.";
constexpr std::string_view kTrusted =
    "Nothing is wrong. Only where all code on this machine and its guests is trusted, {} can be given up; what is lost "
    "is the protection against {}.";

struct Mitigation {
    Tax tax;
    std::string_view what;
    std::string_view parameter;
    std::string_view attack;
};
constexpr Mitigation kMitigations[] = {
    {Tax::kSrso, "in the return thunks of the SRSO mitigation (AMD Zen 1 to 4)", "spec_rstack_overflow=off",
     "programs and guests that read memory of the kernel and of others through return speculation (CVE-2023-20569)"},
    {Tax::kRetbleed, "in the return thunks of the retbleed mitigation", "retbleed=off",
     "programs that read kernel memory through return speculation (CVE-2022-29900, CVE-2022-29901)"},
    {Tax::kRetpoline, "in retpolines, the Spectre v2 mitigation of indirect calls", "spectre_v2=off",
     "programs and guests that steer the kernel's indirect branches (CVE-2017-5715)"},
    {Tax::kIts, "in the thunks of the ITS mitigation (Intel)", "indirect_target_selection=off",
     "programs and guests that steer indirect branches in the lower half of a cache line (CVE-2024-28956)"},
    {Tax::kBhi, "in the loop that clears the branch history (BHI, Intel)", "spectre_bhi=off",
     "programs that steer the kernel's indirect branches through branch history (CVE-2022-0001)"},
    {Tax::kIbpb, "in branch prediction barriers (IBPB)", "the IBPB of the mitigation named",
     "programs that train branch predictions for the kernel or for each other"},
    {Tax::kL1dFlush, "in flushes of the L1 data cache on entering guests (L1TF, Intel)", "l1tf=off",
     "guests that read the host's memory from the L1 cache (CVE-2018-3646)"},
};

void judge_mitigation(const Tally& tally, const Mitigation& kind, Observations& found) {
    const Sum sum = tally.tax(kind.tax);
    const double low = tally.share(sum).interval.low;
    if (sum.samples == 0 || low < kShows) return;
    auto made = about(fmt::format("tax_{}", tax_name(kind.tax)),
                      low >= kShowsMuch ? Severity::kNotice : Severity::kInfo, tally, sum);
    made.evidence = fmt::format("{} is {}; {}.", amount(tally, sum), kind.what, tally.tax_states().why(kind.tax));
    made.meaning =
        "This is the price of a mitigation, not of the code that was profiled: making that code faster does "
        "not lower it, fewer calls and system calls do.";
    if (kind.tax != Tax::kL1dFlush && kind.tax != Tax::kIbpb) made.meaning += kLowerBound;
    made.remedy = fmt::format(fmt::runtime(kTrusted), kind.parameter, kind.attack);
    found.push_back(std::move(made));
}

void judge_hardening(const Tally& tally, Tax tax, const Text& text, Observations& found) {
    const Sum sum = tally.tax(tax);
    const double low = tally.share(sum).interval.low;
    if (sum.samples == 0 || low < kShows) return;
    auto made = about(fmt::format("tax_{}", tax_name(tax)), low >= kShowsMuch ? Severity::kNotice : Severity::kInfo,
                      tally, sum);
    made.evidence = fmt::format("{} is {}; {}.", amount(tally, sum), text.what, tally.tax_states().why(tax));
    made.meaning = text.meaning;
    made.remedy = text.remedy;
    found.push_back(std::move(made));
}

void judge_total(const Tally& tally, Observations& found) {
    Sum all;
    std::vector<std::string> names;
    std::vector<std::pair<Tax, Sum>> rows;
    for (std::size_t i = 0; i < kTaxes; ++i) {
        const auto tax = static_cast<Tax>(i);
        if (is_debug(tax) || tally.tax(tax).samples == 0) continue;
        all += tally.tax(tax);
        rows.emplace_back(tax, tally.tax(tax));
    }
    const double low = tally.share(all).interval.low;
    if (all.samples == 0 || low < kTotalShows) return;
    std::ranges::stable_sort(rows, std::greater{}, [](const auto& row) { return row.second.weight; });
    auto made = about("security_tax", low >= kTotalMuch ? Severity::kNotice : Severity::kInfo, tally, all);
    for (const auto& [tax, sum] : rows) {
        names.push_back(fmt::format("{} {}", tax_name(tax), ratio_of(tally, sum)));
        add_part(made, tally, std::string(tax_name(tax)), sum);
    }
    made.evidence = fmt::format("{} went to mitigations and hardening: {}.", amount(tally, all), listed(names));
    made.meaning =
        "That much the host's security settings take apart from the code under analysis. init_on_alloc is "
        "an upper bound, thunks are lower bounds.";
    made.remedy = "Count it apart when two hosts or kernels are compared; the parts say what each would mean to lose.";
    found.push_back(std::move(made));
}

}  // namespace

void judge_security_tax(const Tally& tally, Observations& found) {
    if (!tally.judged()) return;
    judge_total(tally, found);
    for (const auto& kind : kMitigations) judge_mitigation(tally, kind, found);
    judge_hardening(tally, Tax::kUsercopy,
                    {"in the checks of hardened usercopy",
                     "Every copy between kernel and user memory checks that it stays within one object. Many small "
                     "copies pay most.",
                     "Fewer, larger reads and writes (readv, larger buffers, io_uring's registered buffers). Only in a "
                     "trusted environment hardened_usercopy=off; what is lost is that a kernel bug which copies too "
                     "much is stopped."},
                    found);
    judge_hardening(tally, Tax::kInitOnAlloc,
                    {"at most in clearing memory as it is allocated",
                     "Pages and objects are zeroed before use even where their user overwrites them. Allocations that "
                     "ask for zeroes themselves look the same here: an upper bound.",
                     "Only in a trusted environment init_on_alloc=0; what is lost is that stale data in fresh memory "
                     "cannot leak through kernel bugs."},
                    found);
    judge_hardening(tally, Tax::kInitOnFree,
                    {"in clearing memory as it is freed",
                     "Freed memory is zeroed, and its cache lines are touched again for that alone.",
                     "Only in a trusted environment init_on_free=0; what is lost is that data does not outlive its "
                     "object in memory."},
                    found);
    judge_hardening(tally, Tax::kStackErase,
                    {"in erasing the kernel stack at the end of system calls",
                     "Each system call pays for it; many short ones pay most.",
                     "Only in a trusted environment a kernel without stack erasing; what is lost is that stale kernel "
                     "stack contents cannot leak."},
                    found);
}

}  // namespace perfvigil::analyzer
