// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/observations/tally.hpp"

#include <algorithm>
#include <bit>

namespace perfvigil::analyzer {
namespace {

constexpr Traits kContention = bits(Trait::kSpinning, Trait::kRwSpinning, Trait::kOwnerSpinning);

bool is_swapper(std::string_view comm) { return comm == "swapper" || comm.starts_with("swapper/"); }

// "cpu_core/cycles:ppp/" and "cycles:u" → "cycles".
std::string_view bare_event_name(std::string_view name) {
    while (name.ends_with('/')) name.remove_suffix(1);
    if (const auto slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
    return name.substr(0, name.find(':'));
}

// How well an event stands for CPU time; 0: not at all. Texts do not always say what was counted: then it is taken for
// what nearly all of them count.
int likeness_to_cpu_time(const ProfileEvent& event) {
    if (event.unit == WeightUnit::kNanoseconds) return 4;
    if (event.unit == WeightUnit::kCycles) return 3;
    const std::string_view name = bare_event_name(event.name);
    if (name == "cpu-clock" || name == "task-clock") return 4;
    if (name == "cycles" || name == "cpu-cycles" || name == "ref-cycles") return 3;
    if (name.empty() || name == "samples" || name == "cpu") return 1;
    return 0;
}

template <class Visit>
void for_each_trait(Traits traits, Visit&& visit) {
    for (; traits != 0; traits &= traits - 1) visit(static_cast<std::size_t>(std::countr_zero(traits)));
}

}  // namespace

Tally::Tally(const Profile& profile) : profile_(&profile), states_(profile.host) {
    traits_.reserve(profile.functions.size());
    for (const auto& function : profile.functions) traits_.push_back(traits_of(function));
    function_self_.resize(profile.functions.size());
    choose_event();
    count_samples();
}

void Tally::choose_event() {
    int best = 0;
    std::uint64_t samples = 0;
    for (std::uint32_t i = 0; i < profile_->events.size(); ++i) {
        const auto& event = profile_->events[i];
        const int likeness = event.samples == 0 ? 0 : likeness_to_cpu_time(event);
        if (likeness < best || likeness == 0 || (likeness == best && event.samples <= samples)) continue;
        best = likeness;
        samples = event.samples;
        event_ = i;
    }
}

void Tally::count_samples() {
    std::vector<bool> swappers;
    swappers.reserve(profile_->contexts.size());
    for (const auto& context : profile_->contexts) swappers.push_back(is_swapper(context.comm));
    swapper_.resize(profile_->events.size());
    stack_busy_.resize(profile_->stacks.size());
    std::vector<Sum> stack_idle(profile_->stacks.size());
    double squares = 0;
    for (const auto& sample : profile_->samples) {
        const Sum sum{sample.samples, sample.weight};
        if (swappers[sample.context]) swapper_[sample.event] += sum;
        if (sample.event != event_) continue;
        (sample.idle ? stack_idle : stack_busy_)[sample.stack] += sum;
        (sample.idle ? idle_ : busy_) += sum;
        if (sample.idle || sum.samples == 0) continue;
        const auto weight = static_cast<double>(sum.weight);
        squares += weight * weight / static_cast<double>(sum.samples);
    }
    const auto weight = static_cast<double>(busy_.weight);
    const auto samples = static_cast<double>(busy_.samples);
    effective_samples_ = squares > 0 ? std::min(samples, weight * weight / squares) : samples;
    stack_traits_.resize(profile_->stacks.size());
    for (std::uint32_t i = 0; i < profile_->stacks.size(); ++i) {
        if (stack_busy_[i].samples != 0) count_stack(i, stack_busy_[i]);
        if (stack_idle[i].samples != 0) count_idle_stack(i, stack_idle[i]);
    }
}

Traits Tally::inner_traits(const ProfileStack& stack) const {
    Traits inner = 0;
    for (const std::uint32_t function : stack.functions) {
        inner |= traits_[function];
        if (has(traits_[function], Trait::kInterrupt)) break;
    }
    return inner;
}

void Tally::count_stack(std::uint32_t number, const Sum& sum) {
    const auto& stack = profile_->stacks[number];
    if (stack.functions.empty()) return;
    const std::uint32_t leaf = stack.functions.front();
    function_self_[leaf] += sum;
    for_each_trait(traits_[leaf], [&](std::size_t trait) { self_[trait] += sum; });
    const Traits inner = inner_traits(stack);
    stack_traits_[number] = inner;
    for_each_trait(inner, [&](std::size_t trait) { total_[trait] += sum; });
    if (has(inner, Trait::kTlbFlush) && has(traits_[leaf], Trait::kCrossCall)) cross_calls_for_tlb_ += sum;
    if ((inner & kTaxTraits) != 0) {
        if (const auto tax = states_.of_stack(stack.functions, traits_)) taxes_[index_of(*tax)] += sum;
    }
    if (profile_->functions[leaf].kernel) count_kernel_leaf(stack, sum);
    count_user_shape(stack, sum);
    count_chain_end(stack, sum);
}

void Tally::count_idle_stack(std::uint32_t number, const Sum& sum) {
    for_each_trait(inner_traits(profile_->stacks[number]), [&](std::size_t trait) { idle_total_[trait] += sum; });
}

void Tally::count_kernel_leaf(const ProfileStack& stack, const Sum& sum) {
    const auto& functions = stack.functions;
    const Traits leaf = traits_[functions.front()];
    if ((leaf & kContention) != 0) {
        std::size_t at = 1;
        while (at < functions.size() && (traits_[functions[at]] & (kContention | bits(Trait::kLockApi))) != 0) ++at;
        count(lock_callers_, functions.front(), at < functions.size() ? functions[at] : kNobody, sum);
    }
    if (has(leaf, Trait::kIrqEnabling)) {
        count(irq_callers_, functions.front(), functions.size() > 1 ? functions[1] : kNobody, sum);
    }
}

// What frame pointers cannot see shows in the user part: the caller of code without a frame is skipped.
void Tally::count_user_shape(const ProfileStack& stack, const Sum& sum) {
    const auto& functions = stack.functions;
    const auto in_user = [&](std::size_t at) { return !profile_->functions[functions[at]].kernel; };
    if (functions.size() > 1 && has(traits_[functions[0]], Trait::kFrameless) && in_user(1)) {
        count(frameless_callers_, functions[0], functions[1], sum);
    }
    for (std::size_t at = functions.size(); at-- > 1;) {
        if (!has(traits_[functions[at]], Trait::kCallsMain)) continue;
        const auto& inside = profile_->functions[functions[at - 1]];
        const auto& caller = profile_->functions[functions[at]];
        if (inside.kernel) return;
        under_main_caller_ += sum;
        // Only the innermost function is certain to hide its caller: one that called others may have taken main's place
        // by a jump. A function of the C library there may be exit(), which is called in the same place.
        const bool innermost = at == 1 || !in_user(at - 2);
        const bool tells = innermost && inside.reason == UnknownReason::kNone && inside.dso != caller.dso;
        if (tells && !has(traits_[functions[at - 1]], Trait::kMain)) {
            count(in_place_of_main_, functions[at - 1], functions[at], sum);
        }
        return;
    }
}

void Tally::count_chain_end(const ProfileStack& stack, const Sum& sum) {
    const std::uint32_t outermost = stack.functions.back();
    if ((stack.flags & kStackCut) != 0) cut_ += sum;
    if ((stack.flags & kStackTruncated) != 0) {
        truncated_ += sum;
        count(truncated_at_, outermost, kNobody, sum);
    }
    if (stack.functions.size() < 2) return;
    with_callers_ += sum;
    const auto& end = profile_->functions[outermost];
    if (!end.kernel && end.reason == UnknownReason::kUnmapped) ends_unmapped_ += sum;
}

Share Tally::share_of(const Sum& part, const Sum& whole, double samples) {
    if (whole.weight == 0 || whole.samples == 0) return {0, {0, 1}};
    const double ratio = std::min(1.0, static_cast<double>(part.weight) / static_cast<double>(whole.weight));
    return {ratio, wilson(ratio * samples, samples, kZ95)};
}

void Tally::count(Pairs& pairs, std::uint32_t function, std::uint32_t other, const Sum& sum) {
    pairs[(std::uint64_t{function} << 32U) | other] += sum;
}

std::vector<Pairing> Tally::rows_of(const Pairs& pairs) {
    std::vector<Pairing> rows;
    rows.reserve(pairs.size());
    for (const auto& [key, sum] : pairs) {
        rows.push_back({static_cast<std::uint32_t>(key >> 32U), static_cast<std::uint32_t>(key), sum});
    }
    std::ranges::sort(rows, [](const Pairing& a, const Pairing& b) {
        if (a.sum.weight != b.sum.weight) return a.sum.weight > b.sum.weight;
        return a.function != b.function ? a.function < b.function : a.other < b.other;
    });
    return rows;
}

std::vector<Pairing> Tally::functions_with(Trait trait) const {
    Pairs found;
    for (std::uint32_t i = 0; i < traits_.size(); ++i) {
        if (has(traits_[i], trait) && function_self_[i].samples != 0) count(found, i, kNobody, function_self_[i]);
    }
    return rows_of(found);
}

std::vector<Tally::Task> Tally::tasks_with(Trait trait) const {
    boost::unordered_flat_map<std::string_view, Sum> sums;
    for (const auto& sample : profile_->samples) {
        if (sample.event != event_ || sample.idle || !has(stack_traits_[sample.stack], trait)) continue;
        sums[profile_->contexts[sample.context].comm] += {sample.samples, sample.weight};
    }
    std::vector<Task> tasks;
    for (const auto& [comm, sum] : sums) tasks.push_back({comm, sum});
    std::ranges::sort(tasks, [](const Task& a, const Task& b) {
        return a.sum.weight != b.sum.weight ? a.sum.weight > b.sum.weight : a.comm < b.comm;
    });
    return tasks;
}

}  // namespace perfvigil::analyzer
