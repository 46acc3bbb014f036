// SPDX-License-Identifier: GPL-2.0-or-later
// A profile counted once for all rules: each function classified by its name, each stack walked once, the sums that
// rules compare kept by trait. Knows no thresholds and writes no sentences.
//
// One event is judged: a clock where there is one (its weight is CPU time), else cycles, else what most likely stands
// for CPU time. A profile of other events (page faults, tracepoints) has none, and rules about CPU time stay silent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/ledger.hpp"
#include "analyzer/observations/sum.hpp"
#include "analyzer/observations/tax.hpp"
#include "analyzer/observations/traits.hpp"
#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// Of the judged event's busy weight. The interval is the binomial one for its number of samples, or for fewer where
// samples weigh differently.
struct Share {
    double ratio = 0;
    Interval interval;
};

// A function seen in one place of stacks together with another: a lock's slow path and who wants the lock.
struct Pairing {
    std::uint32_t function = 0;
    std::uint32_t other = 0;
    Sum sum;
};

class Tally {
public:
    static constexpr std::uint32_t kNobody = 0xffffffff;  // Pairing::other where the stack ends

    explicit Tally(const Profile& profile);

    [[nodiscard]] const Profile& profile() const { return *profile_; }

    // --- the judged event; all sums below are of it
    [[nodiscard]] bool judged() const { return event_.has_value(); }
    [[nodiscard]] std::uint32_t event() const { return *event_; }
    [[nodiscard]] const ProfileEvent& judged_event() const { return profile_->events[*event_]; }
    [[nodiscard]] bool is_clock() const { return judged_event().unit == WeightUnit::kNanoseconds; }
    [[nodiscard]] Sum busy() const { return busy_; }  // idle samples excluded, here and below
    [[nodiscard]] Sum idle() const { return idle_; }
    // As many samples of equal weight would tell as much (Kish): all of them for clocks, fewer for frequency-mode
    // events, whose first samples weigh next to nothing.
    [[nodiscard]] double effective_samples() const { return effective_samples_; }
    [[nodiscard]] Share share(const Sum& sum) const { return share_of(sum, busy_, effective_samples_); }
    [[nodiscard]] static Share share_of(const Sum& part, const Sum& whole) {
        return share_of(part, whole, static_cast<double>(whole.samples));
    }
    [[nodiscard]] static Share share_of(const Sum& part, const Sum& whole, double samples);

    // By the sampled function.
    [[nodiscard]] Sum self(Trait trait) const { return self_[index_of(trait)]; }
    // With the function or something it called sampled; what an interrupt ran on top does not count.
    [[nodiscard]] Sum total(Trait trait) const { return total_[index_of(trait)]; }
    [[nodiscard]] Sum idle_total(Trait trait) const { return idle_total_[index_of(trait)]; }
    [[nodiscard]] Sum cross_calls_for_tlb() const { return cross_calls_for_tlb_; }
    [[nodiscard]] Sum tax(Tax tax) const { return taxes_[index_of(tax)]; }
    [[nodiscard]] const TaxStates& tax_states() const { return states_; }

    // --- functions
    [[nodiscard]] Traits traits(std::uint32_t function) const { return traits_[function]; }
    [[nodiscard]] Sum self_of(std::uint32_t function) const { return function_self_[function]; }
    // The sampled functions that have the trait, most weight first.
    [[nodiscard]] std::vector<Pairing> functions_with(Trait trait) const;

    // --- pairs, most weight first
    // Spinning on a lock: (slow path, who wants the lock).
    [[nodiscard]] std::vector<Pairing> lock_callers() const { return rows_of(lock_callers_); }
    // Sampled where interrupts come back on: (that function, its caller).
    [[nodiscard]] std::vector<Pairing> irq_callers() const { return rows_of(irq_callers_); }
    // Sampled in frameless code: (it, the user function shown as its caller).
    [[nodiscard]] std::vector<Pairing> frameless_callers() const { return rows_of(frameless_callers_); }
    // Innermost in user code, and shown as called by what calls nothing but main: (that function, the caller).
    [[nodiscard]] std::vector<Pairing> in_place_of_main() const { return rows_of(in_place_of_main_); }
    // As deep as allowed: (outermost function kept, nobody).
    [[nodiscard]] std::vector<Pairing> truncated_at() const { return rows_of(truncated_at_); }

    // --- stacks
    [[nodiscard]] Sum under_main_caller() const { return under_main_caller_; }
    [[nodiscard]] Sum truncated() const { return truncated_; }
    [[nodiscard]] Sum cut() const { return cut_; }
    [[nodiscard]] Sum ends_unmapped() const { return ends_unmapped_; }  // and nobody is blamed for it
    [[nodiscard]] Sum with_callers() const { return with_callers_; }    // more than one frame

    // --- tasks
    struct Task {
        std::string_view comm;
        Sum sum;
    };
    // Whose samples have the trait in the sense of total(), heaviest first.
    [[nodiscard]] std::vector<Task> tasks_with(Trait trait) const;
    // The swapper's samples of any event, idle or not.
    [[nodiscard]] Sum swapper(std::uint32_t event) const { return swapper_[event]; }

private:
    using Pairs = boost::unordered_flat_map<std::uint64_t, Sum>;
    static std::vector<Pairing> rows_of(const Pairs& pairs);
    static void count(Pairs& pairs, std::uint32_t function, std::uint32_t other, const Sum& sum);

    void choose_event();
    void count_samples();
    void count_stack(std::uint32_t stack, const Sum& sum);
    void count_idle_stack(std::uint32_t stack, const Sum& sum);
    void count_kernel_leaf(const ProfileStack& stack, const Sum& sum);
    void count_chain_end(const ProfileStack& stack, const Sum& sum);
    void count_user_shape(const ProfileStack& stack, const Sum& sum);
    // Traits of the frames from the sampled one outwards, up to the first interrupt.
    [[nodiscard]] Traits inner_traits(const ProfileStack& stack) const;

    const Profile* profile_;
    TaxStates states_;
    std::optional<std::uint32_t> event_;
    Sum busy_;
    Sum idle_;
    double effective_samples_ = 0;
    std::array<Sum, kTraits> self_{};
    std::array<Sum, kTraits> total_{};
    std::array<Sum, kTraits> idle_total_{};
    std::array<Sum, kTaxes> taxes_{};
    Sum cross_calls_for_tlb_;
    std::vector<Traits> traits_;        // by function
    std::vector<Sum> function_self_;    // by function
    std::vector<Sum> stack_busy_;       // by stack
    std::vector<Traits> stack_traits_;  // by stack: inner ones
    std::vector<Sum> swapper_;          // by event
    Pairs lock_callers_;
    Pairs irq_callers_;
    Pairs frameless_callers_;
    Pairs in_place_of_main_;
    Pairs truncated_at_;
    Sum under_main_caller_;
    Sum truncated_;
    Sum cut_;
    Sum ends_unmapped_;
    Sum with_callers_;
};

}  // namespace perfvigil::analyzer
