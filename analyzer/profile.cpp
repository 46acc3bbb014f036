// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile.hpp"

#include <algorithm>

namespace perfvigil::analyzer {

std::vector<FunctionTotals> function_totals(const Profile& profile, std::uint32_t event, IdleRows idle) {
    constexpr std::uint32_t kNone = 0xffffffff;
    std::vector<FunctionTotals> totals(profile.functions.size());
    for (std::uint32_t i = 0; i < totals.size(); ++i) totals[i].function = i;
    std::vector<std::uint32_t> last_sample(profile.functions.size(), kNone);  // that counted for the function
    for (std::uint32_t i = 0; i < profile.samples.size(); ++i) {
        const auto& sample = profile.samples[i];
        if (sample.event != event || (sample.idle && idle == IdleRows::kExclude)) continue;
        const auto& functions = profile.stacks[sample.stack].functions;
        if (functions.empty()) continue;
        totals[functions.front()].self_samples += sample.samples;
        totals[functions.front()].self_weight += sample.weight;
        for (const auto function : functions) {
            if (last_sample[function] == i) continue;
            last_sample[function] = i;
            totals[function].total_samples += sample.samples;
            totals[function].total_weight += sample.weight;
        }
    }
    std::erase_if(totals, [](const FunctionTotals& row) { return row.total_samples == 0; });
    std::ranges::sort(totals, [](const FunctionTotals& a, const FunctionTotals& b) {
        if (a.self_weight != b.self_weight) return a.self_weight > b.self_weight;
        if (a.total_weight != b.total_weight) return a.total_weight > b.total_weight;
        return a.function < b.function;
    });
    return totals;
}

}  // namespace perfvigil::analyzer
