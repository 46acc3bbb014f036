// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/observations/tax.hpp"

#include <bit>

namespace perfvigil::analyzer {
namespace {

// By trait: what counts with everything it calls.
constexpr std::array kWithCallees = {std::pair(Trait::kUsercopy, Tax::kUsercopy),
                                     std::pair(Trait::kStackErase, Tax::kStackErase),
                                     std::pair(Trait::kKasan, Tax::kKasan),
                                     std::pair(Trait::kKcsan, Tax::kKcsan),
                                     std::pair(Trait::kKmsan, Tax::kKmsan),
                                     std::pair(Trait::kUbsan, Tax::kUbsan),
                                     std::pair(Trait::kKcov, Tax::kKcov),
                                     std::pair(Trait::kLockdep, Tax::kLockdep),
                                     std::pair(Trait::kPagePoison, Tax::kPagePoison),
                                     std::pair(Trait::kDebugPagealloc, Tax::kDebugPagealloc),
                                     std::pair(Trait::kSlubDebug, Tax::kSlubDebug),
                                     std::pair(Trait::kKmemleak, Tax::kKmemleak),
                                     std::pair(Trait::kDebugObjects, Tax::kDebugObjects),
                                     std::pair(Trait::kDebugPreempt, Tax::kDebugPreempt)};

std::optional<Tax> with_callees(Traits traits) {
    for (const auto& [trait, tax] : kWithCallees) {
        if (has(traits, trait)) return tax;
    }
    return std::nullopt;
}

std::vector<TaxShare> taxes(const Profile& profile, std::uint32_t event, bool debug) {
    std::vector<Traits> traits;
    traits.reserve(profile.functions.size());
    for (const auto& function : profile.functions) traits.push_back(traits_of(function));
    const TaxStates states(profile.host);
    std::array<Sum, kTaxes> sums{};
    for (const auto& sample : profile.samples) {
        if (sample.event != event || sample.idle) continue;
        const auto tax = states.of_stack(profile.stacks[sample.stack].functions, traits);
        if (tax && is_debug(*tax) == debug) sums[index_of(*tax)] += {sample.samples, sample.weight};
    }
    std::vector<TaxShare> shares;
    for (std::size_t i = 0; i < kTaxes; ++i) {
        if (sums[i].samples != 0) shares.push_back({tax_name(static_cast<Tax>(i)), sums[i]});
    }
    return shares;
}

}  // namespace

std::string_view tax_name(Tax tax) {
    switch (tax) {
        case Tax::kSrso: return "srso";
        case Tax::kRetbleed: return "retbleed";
        case Tax::kRetpoline: return "retpoline";
        case Tax::kIts: return "its";
        case Tax::kBhi: return "bhi";
        case Tax::kIbpb: return "ibpb";
        case Tax::kL1dFlush: return "l1d_flush";
        case Tax::kUsercopy: return "hardened_usercopy";
        case Tax::kInitOnAlloc: return "init_on_alloc";
        case Tax::kInitOnFree: return "init_on_free";
        case Tax::kStackErase: return "stack_erase";
        case Tax::kKasan: return "kasan";
        case Tax::kKcsan: return "kcsan";
        case Tax::kKmsan: return "kmsan";
        case Tax::kUbsan: return "ubsan";
        case Tax::kKcov: return "kcov";
        case Tax::kLockdep: return "lockdep";
        case Tax::kPagePoison: return "page_poisoning";
        case Tax::kDebugPagealloc: return "debug_pagealloc";
        case Tax::kSlubDebug: return "slub_debug";
        case Tax::kKmemleak: return "kmemleak";
        case Tax::kDebugObjects: return "debug_objects";
        case Tax::kDebugPreempt: return "debug_preempt";
        case Tax::kCount: break;
    }
    return "none";
}

std::optional<Tax> TaxStates::of_thunk(Traits leaf) const {
    if (has(leaf, Trait::kSrso)) return if_in_force(Tax::kSrso);
    if (has(leaf, Trait::kRetbleed)) return if_in_force(Tax::kRetbleed);
    if (has(leaf, Trait::kReturnThunk)) return return_thunk_;
    if (has(leaf, Trait::kRetpoline)) return if_in_force(Tax::kRetpoline);
    if (has(leaf, Trait::kIts)) return if_in_force(Tax::kIts);
    if (has(leaf, Trait::kBhi)) return if_in_force(Tax::kBhi);
    if (has(leaf, Trait::kIbpb)) return if_in_force(Tax::kIbpb);
    if (has(leaf, Trait::kL1dFlush)) return if_in_force(Tax::kL1dFlush);
    return std::nullopt;
}

// Clearing memory is a tax only where an allocator does it by itself: on freeing always, on allocating unless somebody
// further out wants zeroes anyway. (An allocation with __GFP_ZERO looks the same: an upper bound.)
std::optional<Tax> TaxStates::of_clearing(std::span<const std::uint32_t> functions,
                                          std::span<const Traits> traits) const {
    std::size_t at = 1;
    while (at < functions.size() && (traits[functions[at]] & bits(Trait::kClearing, Trait::kClearingHelper)) != 0) ++at;
    if (at == functions.size()) return std::nullopt;
    const Traits caller = traits[functions[at]];
    if ((caller & bits(Trait::kPageFree, Trait::kSlabFree)) != 0) return if_in_force(Tax::kInitOnFree);
    if ((caller & bits(Trait::kPageAllocation, Trait::kSlabAllocation)) == 0) return std::nullopt;
    for (; at < functions.size(); ++at) {
        if (has(traits[functions[at]], Trait::kZeroOnDemand)) return std::nullopt;
        if (has(traits[functions[at]], Trait::kInterrupt)) break;
    }
    return if_in_force(Tax::kInitOnAlloc);
}

std::optional<Tax> TaxStates::of_stack(std::span<const std::uint32_t> functions, std::span<const Traits> traits) const {
    if (functions.empty()) return std::nullopt;
    const Traits leaf = traits[functions.front()];
    if (const auto thunk = of_thunk(leaf)) return thunk;
    if (has(leaf, Trait::kClearing)) {
        if (const auto clearing = of_clearing(functions, traits)) return clearing;
    }
    for (const std::uint32_t function : functions) {
        if (const auto tax = with_callees(traits[function])) return tax;
        if (has(traits[function], Trait::kInterrupt)) break;
    }
    return std::nullopt;
}

std::vector<TaxShare> security_tax(const Profile& profile, std::uint32_t event) { return taxes(profile, event, false); }

std::vector<std::string_view> security_taxes_in_force(const ProfileHost& host) {
    const TaxStates states(host);
    std::vector<std::string_view> kinds;
    for (std::size_t i = 0; i < kTaxes; ++i) {
        const auto tax = static_cast<Tax>(i);
        const bool shown_by_samples_alone = tax == Tax::kUsercopy || tax == Tax::kStackErase;
        if (!is_debug(tax) && !shown_by_samples_alone && states.in_force(tax)) kinds.push_back(tax_name(tax));
    }
    return kinds;
}

std::vector<TaxShare> debug_tax(const Profile& profile, std::uint32_t event) { return taxes(profile, event, true); }

}  // namespace perfvigil::analyzer
