// SPDX-License-Identifier: GPL-2.0-or-later
// Rules about what the kernel does for (and besides) the code under analysis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/observed.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// --- lock_contention

TEST(LockContention, NamesWhoWantsTheLock) {
    ObservedProfile p;
    p.rest(800)
        .kernel({"native_queued_spin_lock_slowpath", "_raw_spin_lock_irqsave", "ep_poll_callback", "__wake_up"}, 60)
        .kernel({"osq_lock", "rwsem_down_write_slowpath", "down_write_killable", "vm_mmap_pgoff"}, 100)
        .kernel({"native_queued_spin_lock_slowpath", "_raw_spin_lock", "ep_poll_callback", "__wake_up"}, 40);
    const auto found = p.find("lock_contention");
    EXPECT_EQ(found.severity, Severity::kWarning);
    EXPECT_THAT(found.evidence, AllOf(HasSubstr("20 % of busy CPU time"), HasSubstr("spin locks 10 %"),
                                      HasSubstr("wanted by ep_poll_callback (10 %) and vm_mmap_pgoff (10 %)")));
    EXPECT_DOUBLE_EQ(figure(found, "share", "vm_mmap_pgoff"), 0.1);
}

TEST(LockContention, UncontendedLocksAndUserFunctionsDoNotFire) {
    ObservedProfile p;
    p.rest(800).kernel({"_raw_spin_lock", "ep_poll_callback"}, 100).stack({user("osq_lock"), user("main")}, 100);
    EXPECT_FALSE(p.fires("lock_contention"));
    ObservedProfile little;
    little.rest(990).kernel({"osq_lock", "mutex_lock", "f"}, 10);
    EXPECT_FALSE(little.fires("lock_contention")) << "10 in 1000 may be fewer than one in a hundred";
    ObservedProfile some;
    some.rest(950).kernel({"osq_lock", "mutex_lock", "f"}, 50);
    EXPECT_EQ(some.find("lock_contention").severity, Severity::kNotice);
}

// --- irq_off_time

TEST(IrqOffTime, ReadsTheRowsAsTheirCallersWork) {
    ObservedProfile p;
    p.rest(700)
        .kernel({"_raw_spin_unlock_irqrestore", "blk_mq_complete", "nvme_irq"}, 200)
        .kernel({"finish_task_switch.isra.0", "__schedule", "schedule"}, 100);
    const auto found = p.find("irq_off_time");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("_raw_spin_unlock_irqrestore (20 %) and finish_task_switch.isra.0 (10 %). "
                                          "Their callers: blk_mq_complete (20 %) and __schedule (10 %)."));
}

TEST(IrqOffTime, IsOnlyAHintWhereCyclesSeeThatCode) {
    ObservedProfile p;
    p.rest(700).kernel({"_raw_spin_unlock_irqrestore", "f"}, 300);
    p.profile.events.push_back({.name = "cycles", .unit = WeightUnit::kCycles, .samples = 900, .weight = 900});
    EXPECT_EQ(p.find("irq_off_time").severity, Severity::kInfo);
    EXPECT_THAT(p.find("irq_off_time").remedy, HasSubstr("Rank kernel functions by cycles"));
    p.profile.host.architecture = "aarch64";
    EXPECT_EQ(p.find("irq_off_time").severity, Severity::kNotice) << "cycles are no NMI there";
}

TEST(IrqOffTime, CyclesAndUserFunctionsAreNotConcerned) {
    ObservedProfile cycles(WeightUnit::kCycles);
    cycles.rest(700).kernel({"_raw_spin_unlock_irqrestore", "f"}, 300);
    EXPECT_FALSE(cycles.fires("irq_off_time"));
    ObservedProfile p;
    p.rest(700)
        .stack({user("finish_task_switch"), user("main")}, 200)
        .kernel({"_raw_spin_unlock", "f"}, 100)
        .idle({"_raw_spin_unlock_irqrestore", "do_idle"}, 300);
    EXPECT_FALSE(p.fires("irq_off_time"));
}

// --- memory

TEST(PageFaults, AreNamedWithWhoMakesThem) {
    ObservedProfile p;
    p.setting("transparent_hugepage", "madvise");
    p.rest(600)
        .kernel({"clear_page_erms", "do_anonymous_page", "handle_mm_fault", "asm_exc_page_fault"}, 300, "java")
        .kernel({"handle_mm_fault", "do_user_addr_fault", "asm_exc_page_fault"}, 100, "sh");
    const auto found = p.find("page_faults");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, AllOf(HasSubstr("40 % of busy CPU time"), HasSubstr("java (30 %) and sh (10 %)"),
                                      HasSubstr("takes 30 %"), HasSubstr("huge pages are set to madvise")));
}

TEST(PageFaults, InterruptsDuringOneAndUserFunctionsAreNone) {
    ObservedProfile p;
    p.rest(600)
        .kernel({"tcp_v4_rcv", "handle_softirqs", "irq_exit_rcu", "asm_common_interrupt", "handle_mm_fault",
                 "asm_exc_page_fault"},
                300)
        .stack({user("do_page_fault"), user("main")}, 100);
    EXPECT_FALSE(p.fires("page_faults"));
    ObservedProfile few;
    few.rest(960).kernel({"handle_mm_fault", "asm_exc_page_fault"}, 40);
    EXPECT_FALSE(few.fires("page_faults"));
}

TEST(TlbShootdowns, CountTheWaitingForOtherCpus) {
    ObservedProfile p;
    p.rest(800)
        .kernel({"smp_call_function_many_cond", "on_each_cpu_cond_mask", "native_flush_tlb_multi", "flush_tlb_mm_range",
                 "zap_pte_range"},
                150, "db")
        .kernel({"flush_tlb_func", "handle_softirqs"}, 50);
    const auto found = p.find("tlb_shootdowns");
    EXPECT_DOUBLE_EQ(figure(found, "share"), 0.2);
    EXPECT_DOUBLE_EQ(figure(found, "share", "waiting for other CPUs"), 0.15);
}

TEST(TlbShootdowns, OtherCrossCallsAreNone) {
    ObservedProfile p;
    p.rest(800).kernel({"smp_call_function_many_cond", "on_each_cpu_cond_mask", "membarrier_global_expedited"}, 200);
    EXPECT_FALSE(p.fires("tlb_shootdowns"));
}

TEST(MemoryReclaim, TellsStallsFromTheBackground) {
    ObservedProfile p;
    p.rest(800).kernel({"shrink_folio_list", "shrink_lruvec", "shrink_node", "balance_pgdat", "kswapd"}, 200,
                       "kswapd0");
    EXPECT_EQ(p.find("memory_reclaim").severity, Severity::kInfo);
    p.kernel(
        {"shrink_folio_list", "shrink_node", "do_try_to_free_pages", "try_to_free_pages", "__alloc_pages_slowpath"},
        100);
    const auto found = p.find("memory_reclaim");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_DOUBLE_EQ(figure(found, "samples", "direct"), 100);
}

TEST(MemoryReclaim, AndCompactionStaySilentWithoutThem) {
    ObservedProfile p;
    p.rest(900).stack({user("shrink_node"), user("compact_zone"), user("main")}, 100);
    EXPECT_FALSE(p.fires("memory_reclaim"));
    EXPECT_FALSE(p.fires("memory_compaction"));
    p.kernel({"isolate_migratepages_block", "compact_zone", "kcompactd"}, 100, "kcompactd0");
    EXPECT_THAT(p.find("memory_compaction").evidence, HasSubstr("by kcompactd0"));
}

TEST(MemoryCopies, AddKernelAndLibrary) {
    ObservedProfile p;
    p.rest(600)
        .kernel({"rep_movs_alternative", "_copy_to_iter", "filemap_read"}, 200)
        .stack({user("__memmove_avx_unaligned_erms", "/lib/libc.so.6"), user("f")}, 200);
    const auto found = p.find("memory_copies");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("kernel 20 %, C library 20 %"));
}

TEST(MemoryCopies, WhatOnlySoundsLikeCopyingIsNone) {
    ObservedProfile p;
    p.rest(600)
        .kernel({"copy_page_range", "dup_mmap", "copy_process"}, 200)
        .stack({user("memcpy", "/usr/bin/app"), user("f")}, 200)
        .stack({user("__strlen_avx2", "/lib/libc.so.6"), user("f")}, 200);
    EXPECT_FALSE(p.fires("memory_copies"));
}

// --- futex_storm, syscall_entry

TEST(FutexStorm, NamesTheTasks) {
    ObservedProfile p;
    p.rest(800)
        .kernel({"__schedule", "schedule", "futex_wait_queue", "futex_wait", "do_futex", "__x64_sys_futex"}, 150,
                "pool-1")
        .kernel({"futex_wake", "do_futex"}, 50, "main");
    const auto found = p.find("futex_storm");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("by pool-1 (15 %) and main (5.0 %)"));
    ObservedProfile few;
    few.rest(950).kernel({"futex_wake", "do_futex"}, 50);
    EXPECT_FALSE(few.fires("futex_storm"));
}

TEST(SyscallEntry, CountsTheWayInAndOutOnly) {
    ObservedProfile p;
    p.rest(800).kernel({"entry_SYSCALL_64_after_hwframe"}, 150, "dd").kernel({"syscall_exit_to_user_mode"}, 50, "dd");
    const auto found = p.find("syscall_entry");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, AllOf(HasSubstr("entry_SYSCALL_64_after_hwframe (15 %)"), HasSubstr("by dd (20 %)")));
    EXPECT_THAT(found.meaning, Not(HasSubstr("PTI")));
    p.vulnerability("meltdown", "Mitigation: PTI");
    EXPECT_THAT(p.find("syscall_entry").meaning, HasSubstr("PTI"));
    ObservedProfile work;
    work.rest(800).kernel({"vfs_read", "ksys_read", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"}, 200);
    EXPECT_FALSE(work.fires("syscall_entry")) << "the calls do something";
}

}  // namespace
}  // namespace perfvigil::analyzer
