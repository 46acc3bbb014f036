// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/kernel_text.hpp"

#include <algorithm>
#include <array>

namespace perfvigil::analyzer {
namespace {

using collector::KernelTextRange;

struct Name {
    std::string_view text;
    TextClass text_class;
};

// Whole names. Old ones stay: captures of old kernels are read too.
constexpr auto kNames = std::to_array<Name>({
    {"do_idle", TextClass::kIdleLoop},
    {"cpu_startup_entry", TextClass::kIdleLoop},
    {"cpu_idle_loop", TextClass::kIdleLoop},  // 3.10 to 4.9
    {"cpu_idle", TextClass::kIdleLoop},       // before
    {"cpuidle_idle_call", TextClass::kIdleLoop},
    {"poll_idle", TextClass::kIdlePoll},
    {"cpu_idle_poll", TextClass::kIdlePoll},
    // Softirq work, wherever it runs: interrupt exit, local_bh_enable, ksoftirqd.
    {"handle_softirqs", TextClass::kSoftirq},
    {"__do_softirq", TextClass::kSoftirq},
    {"____do_softirq", TextClass::kSoftirq},
    {"do_softirq", TextClass::kSoftirq},
    {"do_softirq_own_stack", TextClass::kSoftirq},
    {"__softirqentry_text_start", TextClass::kSoftirq},  // stands at __do_softirq in 4.19 to 6.1
    {"invoke_softirq", TextClass::kSoftirq},
    // x86-64
    {"asm_common_interrupt", TextClass::kInterrupt},
    {"common_interrupt", TextClass::kInterrupt},
    {"__common_interrupt", TextClass::kInterrupt},
    {"asm_spurious_interrupt", TextClass::kInterrupt},
    {"spurious_interrupt", TextClass::kInterrupt},
    {"fred_extint", TextClass::kInterrupt},
    {"xen_evtchn_do_upcall", TextClass::kInterrupt},
    {"xen_hvm_callback_vector", TextClass::kInterrupt},
    {"hyperv_callback_vector", TextClass::kInterrupt},
    {"do_IRQ", TextClass::kInterrupt},  // up to 5.7, with the next ones
    {"ret_from_intr", TextClass::kInterrupt},
    {"apic_timer_interrupt", TextClass::kInterrupt},
    {"smp_apic_timer_interrupt", TextClass::kInterrupt},
    {"reschedule_interrupt", TextClass::kInterrupt},
    {"smp_reschedule_interrupt", TextClass::kInterrupt},
    {"call_function_interrupt", TextClass::kInterrupt},
    {"smp_call_function_interrupt", TextClass::kInterrupt},
    {"call_function_single_interrupt", TextClass::kInterrupt},
    {"smp_call_function_single_interrupt", TextClass::kInterrupt},
    {"irq_work_interrupt", TextClass::kInterrupt},
    {"smp_irq_work_interrupt", TextClass::kInterrupt},
    // all
    {"irq_exit", TextClass::kInterrupt},
    {"irq_exit_rcu", TextClass::kInterrupt},
    {"__irq_exit_rcu", TextClass::kInterrupt},
    {"irq_enter", TextClass::kInterrupt},
    {"irq_enter_rcu", TextClass::kInterrupt},
    // arm64
    {"el1h_64_irq", TextClass::kInterrupt},
    {"el1h_64_irq_handler", TextClass::kInterrupt},
    {"el1h_64_fiq", TextClass::kInterrupt},
    {"el1h_64_fiq_handler", TextClass::kInterrupt},
    {"el0t_64_irq", TextClass::kInterrupt},
    {"el0t_64_irq_handler", TextClass::kInterrupt},
    {"__el0_irq_handler_common", TextClass::kInterrupt},
    {"el0t_32_irq", TextClass::kInterrupt},
    {"el0t_32_irq_handler", TextClass::kInterrupt},
    {"el1_interrupt", TextClass::kInterrupt},
    {"el0_interrupt", TextClass::kInterrupt},
    {"el1_irq", TextClass::kInterrupt},  // up to 5.13
    {"el0_irq", TextClass::kInterrupt},
    {"do_interrupt_handler", TextClass::kInterrupt},
    {"call_on_irq_stack", TextClass::kInterrupt},
    {"gic_handle_irq", TextClass::kInterrupt},
    // A task's own work on the way out of an interrupt.
    {"irqentry_exit_to_user_mode", TextClass::kTaskWork},
    {"exit_to_user_mode_loop", TextClass::kTaskWork},
    {"exit_to_user_mode_prepare", TextClass::kTaskWork},
    {"prepare_exit_to_usermode", TextClass::kTaskWork},
    {"exit_to_usermode_loop", TextClass::kTaskWork},
    {"raw_irqentry_exit_cond_resched", TextClass::kTaskWork},
    {"irqentry_exit_cond_resched", TextClass::kTaskWork},
    {"preempt_schedule_irq", TextClass::kTaskWork},
    {"arm64_preempt_schedule_irq", TextClass::kTaskWork},
    {"do_notify_resume", TextClass::kTaskWork},
});

constexpr auto kPrefixes = std::to_array<Name>({
    {"asm_sysvec_", TextClass::kInterrupt},
    {"sysvec_", TextClass::kInterrupt},
    {"__sysvec_", TextClass::kInterrupt},
    {"fred_sysvec_", TextClass::kInterrupt},
});

// A kernel has a hundred thousand names: few of them begin as one of these does.
class Beginnings {
public:
    constexpr Beginnings() {
        for (const auto& name : kNames) begins_[place(name.text)] = true;
        for (const auto& name : kPrefixes) begins_[place(name.text)] = true;
    }
    [[nodiscard]] constexpr bool may_be(std::string_view name) const {
        return name.size() >= kBytes && begins_[place(name)];
    }

private:
    static constexpr std::size_t kBytes = 4;
    static constexpr std::size_t place(std::string_view name) {
        std::size_t hash = 0;
        for (const char c : name.substr(0, kBytes)) hash = hash * 37 + static_cast<unsigned char>(c);
        return hash % 1024;
    }
    std::array<bool, 1024> begins_{};
};
constexpr Beginnings kBeginnings;

}  // namespace

KernelText::KernelText(std::span<const KernelTextRange> ranges) : ranges_(ranges.begin(), ranges.end()) {
    std::erase_if(ranges_, [](const KernelTextRange& r) { return r.start >= r.end; });
    std::ranges::stable_sort(ranges_, {}, &KernelTextRange::start);
    std::uint64_t covered = 0;
    for (auto& range : ranges_) {
        range.start = std::max(range.start, covered);
        covered = std::max(covered, range.end);
    }
    std::erase_if(ranges_, [](const KernelTextRange& r) { return r.start >= r.end; });
}

TextClass KernelText::classify(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(ranges_, address, {}, &KernelTextRange::start);
    if (after == ranges_.begin()) return TextClass::kOther;
    const auto& range = *std::prev(after);
    if (address >= range.end || range.text_class > static_cast<std::uint8_t>(TextClass::kTaskWork)) {
        return TextClass::kOther;  // between ranges, or a class of a newer recorder
    }
    return static_cast<TextClass>(range.text_class);
}

TextClass KernelText::class_of_symbol(std::string_view name) {
    if (!kBeginnings.may_be(name)) return TextClass::kOther;
    name = name.substr(0, name.find('.', 1));
    for (const auto& [text, text_class] : kNames) {
        if (name == text) return text_class;
    }
    for (const auto& [text, text_class] : kPrefixes) {
        if (name.starts_with(text)) return text_class;
    }
    return TextClass::kOther;
}

}  // namespace perfvigil::analyzer
