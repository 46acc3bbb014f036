// SPDX-License-Identifier: GPL-2.0-or-later
// CPU time that a kernel spends on mitigations, hardening and debugging instead of on the code under analysis: which
// kinds there are, which of them the host's captured state shows to be in force, and which of them a stack is in.
// A kind whose state was not captured is not counted: that a symbol exists proves nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/observations/sum.hpp"
#include "analyzer/observations/traits.hpp"
#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

enum class Tax : std::uint8_t {
    // Mitigations: only where /sys/devices/system/cpu/vulnerabilities says so.
    kSrso,
    kRetbleed,
    kRetpoline,
    kIts,
    kBhi,
    kIbpb,
    kL1dFlush,
    // Hardening.
    kUsercopy,
    kInitOnAlloc,
    kInitOnFree,
    kStackErase,
    // Debugging.
    kKasan,
    kKcsan,
    kKmsan,
    kUbsan,
    kKcov,
    kLockdep,
    kPagePoison,
    kDebugPagealloc,
    kSlubDebug,
    kKmemleak,
    kDebugObjects,
    kDebugPreempt,
    kCount,
};
inline constexpr std::size_t kTaxes = static_cast<std::size_t>(Tax::kCount);
[[nodiscard]] constexpr std::size_t index_of(Tax tax) { return static_cast<std::size_t>(tax); }
[[nodiscard]] constexpr bool is_debug(Tax tax) { return tax >= Tax::kKasan; }
[[nodiscard]] std::string_view tax_name(Tax tax);  // "srso": a label value

// Which kinds are in force on a host, and what says so.
class TaxStates {
public:
    explicit TaxStates(const ProfileHost& host);

    [[nodiscard]] bool in_force(Tax tax) const { return why_[index_of(tax)].has_value(); }
    // "spec_rstack_overflow is \"Mitigation: Safe RET\""; for kinds that need no setting what proves them.
    [[nodiscard]] const std::string& why(Tax tax) const { return *why_[index_of(tax)]; }

    // The kind a sampled stack is spent on. `functions` innermost first; `traits` by function.
    // A thunk counts by itself only (what it makes the CPU mispredict is charged to its callers); hardening and
    // debugging count with what they call. What an interrupt runs on top of either is neither's.
    [[nodiscard]] std::optional<Tax> of_stack(std::span<const std::uint32_t> functions,
                                              std::span<const Traits> traits) const;

private:
    [[nodiscard]] std::optional<Tax> of_thunk(Traits leaf) const;
    [[nodiscard]] std::optional<Tax> of_clearing(std::span<const std::uint32_t> functions,
                                                 std::span<const Traits> traits) const;
    [[nodiscard]] std::optional<Tax> if_in_force(Tax tax) const {
        return in_force(tax) ? std::optional(tax) : std::nullopt;
    }

    std::array<std::optional<std::string>, kTaxes> why_;
    std::optional<Tax> return_thunk_;  // whose __x86_return_thunk is
};

// A function with any of these may put its stack under a tax.
inline constexpr Traits kTaxTraits =
    bits(Trait::kSrso, Trait::kRetbleed, Trait::kReturnThunk, Trait::kRetpoline, Trait::kIts, Trait::kBhi, Trait::kIbpb,
         Trait::kL1dFlush, Trait::kUsercopy, Trait::kStackErase, Trait::kClearing, Trait::kKasan, Trait::kKcsan,
         Trait::kKmsan, Trait::kUbsan, Trait::kKcov, Trait::kLockdep, Trait::kPagePoison, Trait::kDebugPagealloc,
         Trait::kSlubDebug, Trait::kKmemleak, Trait::kDebugObjects, Trait::kDebugPreempt);

// One event's taxes, idle excluded; kinds without a sample are left out. Security: mitigations and hardening.
struct TaxShare {
    std::string_view kind;
    Sum sum;  // weight: nanoseconds of CPU time for clock events
};
[[nodiscard]] std::vector<TaxShare> security_tax(const Profile& profile, std::uint32_t event);
// The kinds whose state the host shows to be in force; hardening only where that can be read.
[[nodiscard]] std::vector<std::string_view> security_taxes_in_force(const ProfileHost& host);
[[nodiscard]] std::vector<TaxShare> debug_tax(const Profile& profile, std::uint32_t event);

}  // namespace perfvigil::analyzer
