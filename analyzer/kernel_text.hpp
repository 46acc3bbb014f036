// SPDX-License-Identifier: GPL-2.0-or-later
// Which stretches of kernel text mean "idle loop", "interrupt exit" or "softirq", so that a sample's mode can be told
// by comparing addresses, without symbolizing. Made from kallsyms; carried by captures (HostFacts::text_ranges).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

enum class TextClass : std::uint8_t {
    kOther = 0,
    kIdleLoop = 1,   // do_idle, cpu_startup_entry
    kInterrupt = 2,  // interrupt entry and exit: asm_sysvec_*, asm_common_interrupt, common_interrupt, irq_exit_rcu …
    kSoftirq = 3,    // handle_softirqs, __do_softirq
    kIdlePoll = 4,   // poll_idle, cpu_idle_poll: idle that burns cycles
};

class KernelText {
public:
    KernelText() = default;
    explicit KernelText(std::span<const collector::KernelTextRange> ranges);

    [[nodiscard]] bool empty() const { return ranges_.empty(); }
    [[nodiscard]] TextClass classify(std::uint64_t address) const;

    // The class a kernel function of this name has; clone suffixes (.isra.0, .constprop.0) are ignored.
    [[nodiscard]] static TextClass class_of_symbol(std::string_view name);

private:
    std::vector<collector::KernelTextRange> ranges_;  // sorted, disjoint
};

}  // namespace perfvigil::analyzer
