// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/kernel_text.hpp"

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

using collector::KernelTextRange;

constexpr auto kIdle = static_cast<std::uint8_t>(TextClass::kIdleLoop);
constexpr auto kSoftirq = static_cast<std::uint8_t>(TextClass::kSoftirq);

TEST(KernelText, ClassesOfSymbols) {
    struct Case {
        std::string_view name;
        TextClass text_class;
    };
    const Case cases[] = {
        {"do_idle", TextClass::kIdleLoop},
        {"cpu_startup_entry", TextClass::kIdleLoop},
        {"cpu_idle_poll.isra.0", TextClass::kIdlePoll},
        {"poll_idle", TextClass::kIdlePoll},
        {"cpu_idle_poll_ctrl", TextClass::kOther},
        {"do_idle_something", TextClass::kOther},
        {"asm_sysvec_apic_timer_interrupt", TextClass::kInterrupt},
        {"sysvec_call_function_single", TextClass::kInterrupt},
        {"__sysvec_apic_timer_interrupt.cold", TextClass::kInterrupt},
        {"fred_sysvec_irq_work", TextClass::kInterrupt},
        {"asm_common_interrupt", TextClass::kInterrupt},
        {"common_interrupt", TextClass::kInterrupt},
        {"common_interrupt_return", TextClass::kOther},  // the return path of every exception
        {"asm_exc_page_fault", TextClass::kOther},       // a fault is the task's own
        {"asm_exc_nmi", TextClass::kOther},
        {"irq_exit_rcu", TextClass::kInterrupt},
        {"__irq_exit_rcu", TextClass::kInterrupt},
        {"irqentry_exit", TextClass::kOther},
        {"handle_softirqs", TextClass::kSoftirq},
        {"handle_softirqs.cold", TextClass::kSoftirq},
        {"__do_softirq", TextClass::kSoftirq},
        {"do_softirq.part.0", TextClass::kSoftirq},
        {"run_ksoftirqd", TextClass::kOther},  // its frame handle_softirqs says it
        {"softirq_init", TextClass::kOther},
        {"irqentry_exit_to_user_mode", TextClass::kTaskWork},
        {"preempt_schedule_irq", TextClass::kTaskWork},
        {"el1h_64_irq_handler", TextClass::kInterrupt},
        {"el1_interrupt", TextClass::kInterrupt},
        {"el1h_64_sync", TextClass::kOther},
        {"el0t_64_irq", TextClass::kInterrupt},
        {"gic_handle_irq", TextClass::kInterrupt},
        {"do_IRQ", TextClass::kInterrupt},
        {"vfs_read", TextClass::kOther},
        {"", TextClass::kOther},
        {".", TextClass::kOther},
        {".do_idle", TextClass::kOther},
    };
    for (const auto& [name, text_class] : cases) EXPECT_EQ(KernelText::class_of_symbol(name), text_class) << name;
}

TEST(KernelText, EmptyKnowsNothing) {
    const KernelText text;
    EXPECT_TRUE(text.empty());
    EXPECT_EQ(text.classify(0), TextClass::kOther);
    EXPECT_EQ(text.classify(~std::uint64_t{0}), TextClass::kOther);
}

TEST(KernelText, EndsAreExclusiveAndGapsAreOther) {
    const KernelTextRange ranges[] = {{300, 400, kSoftirq}, {100, 200, kIdle}};
    const KernelText text(ranges);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.classify(99), TextClass::kOther);
    EXPECT_EQ(text.classify(100), TextClass::kIdleLoop);
    EXPECT_EQ(text.classify(199), TextClass::kIdleLoop);
    EXPECT_EQ(text.classify(200), TextClass::kOther);
    EXPECT_EQ(text.classify(300), TextClass::kSoftirq);
    EXPECT_EQ(text.classify(400), TextClass::kOther);
}

// Captures are anybody's: ranges may overlap, be empty or of a class that a later version knows.
TEST(KernelText, HostileRanges) {
    const KernelTextRange ranges[] = {{100, 300, kIdle}, {200, 400, kSoftirq}, {250, 260, kSoftirq},
                                      {500, 500, kIdle}, {700, 600, kIdle},    {800, 900, 77}};
    const KernelText text(ranges);
    EXPECT_EQ(text.classify(250), TextClass::kIdleLoop);
    EXPECT_EQ(text.classify(350), TextClass::kSoftirq);
    EXPECT_EQ(text.classify(500), TextClass::kOther);
    EXPECT_EQ(text.classify(650), TextClass::kOther);
    EXPECT_EQ(text.classify(850), TextClass::kOther);
}

}  // namespace
}  // namespace perfvigil::analyzer
