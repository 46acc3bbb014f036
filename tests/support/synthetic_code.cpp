// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <stdexcept>

#include "analyzer/slice/kernel_text.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::test {

const std::vector<std::string>& SyntheticCode::kernel_functions() {
    static const std::vector<std::string> names{"pv_native_safe_halt",
                                                "default_idle",
                                                "do_idle",
                                                "cpu_startup_entry",
                                                "start_secondary",
                                                "net_rx_action",
                                                "handle_softirqs",
                                                "__irq_exit_rcu",
                                                "sysvec_apic_timer_interrupt",
                                                "asm_sysvec_apic_timer_interrupt",
                                                "copy_page",
                                                "vfs_read",
                                                "ksys_read",
                                                "do_syscall_64",
                                                "entry_SYSCALL_64_after_hwframe",
                                                "kthread",
                                                "finish_task_switch",
                                                "schedule",
                                                "irqentry_exit_to_user_mode"};
    return names;
}

std::uint64_t SyntheticCode::kernel_address(std::string_view function) {
    const auto& names = kernel_functions();
    const auto found = std::ranges::find(names, function);
    if (found == names.end()) throw std::logic_error("no such synthetic function");
    return kKernelStart + static_cast<std::uint64_t>(found - names.begin()) * kFunctionSize;
}

std::vector<collector::KernelTextRange> SyntheticCode::text_ranges() {
    std::vector<collector::KernelTextRange> ranges;
    for (const auto& name : kernel_functions()) {
        const auto text_class = analyzer::KernelText::class_of_symbol(name);
        if (text_class == analyzer::TextClass::kOther) continue;
        const std::uint64_t start = kernel_address(name);
        ranges.push_back({start, start + kFunctionSize, static_cast<std::uint8_t>(text_class)});
    }
    return ranges;
}

}  // namespace perfvigil::test
