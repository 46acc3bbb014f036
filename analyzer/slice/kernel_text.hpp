// SPDX-License-Identifier: GPL-2.0-or-later
// Which stretches of kernel text mean "idle loop", "interrupt exit" or "softirq", so that a sample's mode can be told
// by comparing addresses, without symbolizing. Made from kallsyms; carried by captures (HostFacts::text_ranges).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

// The numbers are stored in captures.
enum class TextClass : std::uint8_t {
    kOther = 0,
    kIdleLoop = 1,   // do_idle, cpu_startup_entry
    kInterrupt = 2,  // interrupt entry and exit: asm_sysvec_*, asm_common_interrupt, common_interrupt, irq_exit_rcu …
    kSoftirq = 3,    // handle_softirqs, __do_softirq
    kIdlePoll = 4,   // poll_idle, cpu_idle_poll: idle that burns cycles
    // Work that a task does for itself on its way out of an interrupt (irqentry_exit_to_user_mode,
    // preempt_schedule_irq): a preempted task that runs again has the interrupt's entry on its stack but is in none.
    // Seen: finish_task_switch __schedule schedule irqentry_exit_to_user_mode asm_common_interrupt.
    kTaskWork = 5,
};

class KernelText {
public:
    KernelText() = default;
    // Any order. Empty and unordered ranges are dropped; of overlapping ones the first keeps what both cover.
    explicit KernelText(std::span<const collector::KernelTextRange> ranges);

    [[nodiscard]] bool empty() const { return ranges_.empty(); }
    [[nodiscard]] TextClass classify(std::uint64_t address) const;

    // The class a kernel function of this name has (x86-64 and arm64); clone suffixes (.isra.0, .cold) are ignored.
    // Hard interrupt handlers are no class of their own: a cpu-clock sample shows the interrupted registers, so its own
    // timer's frames never appear in its chain, and no timer fires while another handler runs.
    [[nodiscard]] static TextClass class_of_symbol(std::string_view name);

private:
    std::vector<collector::KernelTextRange> ranges_;  // sorted, disjoint
};

}  // namespace perfvigil::analyzer
