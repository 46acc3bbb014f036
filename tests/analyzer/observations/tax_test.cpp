// SPDX-License-Identifier: GPL-2.0-or-later
// Mitigations, hardening and debugging: counted where the host's recorded state shows them in force, and only then.
#include "analyzer/observations/tax.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/observed.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::AllOf;
using testing::HasSubstr;

// --- mitigations

struct Mitigation {
    std::string_view symbol;
    std::string_view file;
    std::string_view on;
    std::string_view off;
    std::string_view kind;
};
// States as kernels write them: arch/x86/kernel/cpu/bugs.c.
constexpr Mitigation kMitigations[] = {
    {"srso_alias_return_thunk", "spec_rstack_overflow", "Mitigation: Safe RET", "Mitigation: SMT disabled", "srso"},
    {"srso_safe_ret", "spec_rstack_overflow", "Mitigation: safe RET", "Vulnerable: Microcode, no safe RET", "srso"},
    {"srso_alias_safe_ret", "spec_rstack_overflow", "Vulnerable: Safe RET, no microcode", "Not affected", "srso"},
    {"retbleed_return_thunk", "retbleed", "Mitigation: untrained return thunk; SMT vulnerable",
     "Mitigation: Enhanced IBRS", "retbleed"},
    {"zen_untrain_ret", "retbleed", "Mitigation: untrained return thunk; SMT enabled with STIBP protection",
     "Vulnerable", "retbleed"},
    {"__x86_indirect_thunk_rax", "spectre_v2", "Mitigation: Retpolines; IBPB: conditional",
     "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional", "retpoline"},
    {"__x86_indirect_thunk_r11", "spectre_v2", "Mitigation: Full generic retpoline", "Vulnerable", "retpoline"},
    {"its_return_thunk", "indirect_target_selection", "Mitigation: Aligned branch/return thunks", "Not affected",
     "its"},
    {"__x86_indirect_its_thunk_rax", "indirect_target_selection", "Mitigation: Aligned branch/return thunks",
     "Vulnerable", "its"},
    {"clear_bhb_loop", "spectre_v2", "Mitigation: Enhanced / Automatic IBRS; BHI: SW loop, KVM: SW loop",
     "Mitigation: Enhanced / Automatic IBRS; BHI: BHI_DIS_S", "bhi"},
    {"entry_ibpb", "retbleed", "Mitigation: IBPB", "Vulnerable", "ibpb"},
    {"vmx_l1d_flush", "l1tf", "Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT vulnerable",
     "Mitigation: PTE Inversion", "l1d_flush"},
};

TEST(SecurityTax, FollowsTheRecordedStateOfTheHost) {
    for (const auto& m : kMitigations) {
        ObservedProfile p;
        p.rest(900).kernel({m.symbol, "vfs_read", "do_syscall_64"}, 100);
        const auto id = "tax_" + std::string(m.kind);
        EXPECT_FALSE(p.fires(id)) << m.symbol << ": state unknown";
        p.vulnerability(std::string(m.file), std::string(m.off));
        EXPECT_FALSE(p.fires(id)) << m.symbol << ": " << m.off;
        p.profile.host.vulnerabilities[0].value = m.on;
        const auto found = p.find(id);
        EXPECT_EQ(found.severity, Severity::kNotice) << m.symbol;
        EXPECT_THAT(found.evidence, AllOf(HasSubstr("10 % of busy CPU time"), HasSubstr(std::string(m.on))));
        EXPECT_THAT(found.remedy, AllOf(HasSubstr("trusted"), HasSubstr("what is lost"))) << m.symbol;
    }
}

TEST(SecurityTax, ASymbolOfAUserProgramIsNone) {
    ObservedProfile p;
    p.rest(900).stack({user("srso_alias_return_thunk"), user("main")}, 100);
    p.vulnerability("spec_rstack_overflow", "Mitigation: Safe RET");
    EXPECT_FALSE(p.fires("tax_srso"));
    EXPECT_FALSE(p.fires("security_tax"));
}

TEST(SecurityTax, AThunkCountsBySelfAndNeverInIdle) {
    ObservedProfile p;
    p.rest(996).kernel({"srso_return_thunk", "vfs_read"}, 4).idle({"srso_return_thunk", "do_idle"}, 500);
    p.vulnerability("spec_rstack_overflow", "Mitigation: Safe RET");
    EXPECT_FALSE(p.fires("tax_srso")) << "4 in 1000 may be fewer than 5 in 1000";
}

TEST(SecurityTax, TheCommonReturnThunkBelongsToWhatPatchedIt) {
    ObservedProfile p;
    p.rest(900).kernel({"__x86_return_thunk", "vfs_read"}, 100);
    p.vulnerability("spectre_v2", "Mitigation: Retpolines");
    EXPECT_TRUE(security_tax(p.profile, 0).empty());
    p.vulnerability("retbleed", "Mitigation: untrained return thunk; SMT disabled");
    ASSERT_EQ(security_tax(p.profile, 0).size(), 1U);
    EXPECT_EQ(security_tax(p.profile, 0)[0].kind, "retbleed");
    p.vulnerability("spec_rstack_overflow", "Mitigation: Safe RET");
    EXPECT_EQ(security_tax(p.profile, 0)[0].kind, "srso");
}

// --- hardening

TEST(SecurityTax, UsercopyChecksCountWithWhatTheyCall) {
    ObservedProfile p;
    p.rest(900)
        .kernel({"__virt_addr_valid", "__check_object_size", "simple_copy_to_iter", "do_syscall_64"}, 60)
        .kernel({"check_stack_object", "__check_object_size"}, 40)
        .kernel({"__virt_addr_valid", "kfree"}, 50);
    const auto taxes = security_tax(p.profile, 0);
    ASSERT_EQ(taxes.size(), 1U);
    EXPECT_EQ(taxes[0].kind, "hardened_usercopy");
    EXPECT_EQ(taxes[0].sum, (Sum{100, 100 * ObservedProfile::kTick}));
    EXPECT_TRUE(p.fires("tax_hardened_usercopy"));
}

TEST(SecurityTax, WhatAnInterruptRunsOnTopIsNotTheTax) {
    ObservedProfile p;
    p.rest(900).kernel({"net_rx_action", "handle_softirqs", "irq_exit_rcu", "sysvec_apic_timer_interrupt",
                        "asm_sysvec_apic_timer_interrupt", "__check_object_size", "_copy_to_iter"},
                       100);
    EXPECT_TRUE(security_tax(p.profile, 0).empty());
}

const std::initializer_list<std::string_view> kPageCacheRead = {
    "clear_page_erms", "post_alloc_hook", "get_page_from_freelist", "__alloc_pages_noprof", "page_cache_ra_unbounded"};
const std::initializer_list<std::string_view> kAnonymousFault = {
    "clear_page_erms",   "post_alloc_hook", "get_page_from_freelist", "__alloc_pages_noprof",
    "do_anonymous_page", "handle_mm_fault", "asm_exc_page_fault"};

TEST(SecurityTax, InitOnAllocNeedsItsSettingAndAnAllocationNobodyWantsZeroed) {
    ObservedProfile p;
    p.rest(900).kernel(kPageCacheRead, 100).kernel(kAnonymousFault, 300);
    EXPECT_FALSE(p.fires("tax_init_on_alloc")) << "state unknown";
    p.config("CONFIG_INIT_ON_ALLOC_DEFAULT_ON", "n");
    EXPECT_FALSE(p.fires("tax_init_on_alloc"));
    p.profile.host.kernel_command_line = "init_on_alloc=1";
    ASSERT_EQ(security_tax(p.profile, 0).size(), 1U);
    EXPECT_EQ(security_tax(p.profile, 0)[0].sum.samples, 100U) << "a fault's page must be zero anyway";
    EXPECT_THAT(p.find("tax_init_on_alloc").evidence,
                AllOf(HasSubstr("at most"), HasSubstr("init_on_alloc=1 is on the kernel command line")));
}

TEST(SecurityTax, TheCommandLineBeatsTheDefault) {
    ObservedProfile p;
    p.rest(900).kernel(kPageCacheRead, 100).config("CONFIG_INIT_ON_ALLOC_DEFAULT_ON", "y");
    EXPECT_TRUE(p.fires("tax_init_on_alloc"));
    p.profile.host.kernel_command_line = "init_on_alloc=0";
    EXPECT_FALSE(p.fires("tax_init_on_alloc"));
}

TEST(SecurityTax, ClearingElsewhereIsNoTax) {
    ObservedProfile p;
    p.profile.host.kernel_command_line = "init_on_alloc=1 init_on_free=1";
    p.rest(900)
        .kernel({"clear_page_erms", "clear_huge_page", "do_huge_pmd_anonymous_page"}, 100)
        .kernel({"memset", "ext4_read_inode_bitmap", "ext4_create"}, 100)
        .kernel({"clear_page_dirty_for_io", "kmem_cache_alloc_noprof"}, 100)
        .kernel({"memset"}, 100);
    EXPECT_TRUE(security_tax(p.profile, 0).empty());
    p.kernel({"clear_page_erms", "kernel_init_pages", "free_pages_prepare", "free_unref_folios"}, 100);
    EXPECT_TRUE(p.fires("tax_init_on_free"));
    p.kernel({"__memset", "slab_post_alloc_hook", "kmem_cache_alloc_noprof", "sk_alloc"}, 100);
    EXPECT_TRUE(p.fires("tax_init_on_alloc"));
}

TEST(SecurityTax, TheTotalIsTheSumOfItsKinds) {
    ObservedProfile p;
    p.rest(700)
        .kernel({"srso_return_thunk", "a"}, 100)
        .kernel({"__x86_indirect_thunk_rax", "a"}, 50)
        .kernel({"stackleak_erase", "do_syscall_64"}, 150);
    p.vulnerability("spec_rstack_overflow", "Mitigation: Safe RET")
        .vulnerability("spectre_v2", "Mitigation: Retpolines");
    const auto found = p.find("security_tax");
    EXPECT_DOUBLE_EQ(figure(found, "share"), 0.3);
    EXPECT_DOUBLE_EQ(figure(found, "cpu_seconds"), 300 * 0.01010101);
    EXPECT_THAT(found.evidence, HasSubstr("stack_erase 15 %, srso 10 % and retpoline 5.0 %"));
    EXPECT_DOUBLE_EQ(figure(found, "share", "srso"), 0.1);
}

// --- debugging

TEST(DebugTax, IsAWarningWhereItDistorts) {
    ObservedProfile p;
    p.rest(800)
        .kernel({"__asan_load8", "vfs_read"}, 50)
        .kernel({"stack_trace_save", "kasan_save_stack", "kmem_cache_alloc_noprof"}, 50)
        .kernel({"__lock_acquire", "lock_acquire", "_raw_spin_lock"}, 100);
    const auto found = p.find("debug_kernel");
    EXPECT_EQ(found.severity, Severity::kWarning);
    EXPECT_THAT(found.evidence,
                AllOf(HasSubstr("20 % of busy CPU time"), HasSubstr("kasan 10 %"), HasSubstr("lockdep 10 %")));
    ASSERT_EQ(debug_tax(p.profile, 0).size(), 2U);
    EXPECT_TRUE(security_tax(p.profile, 0).empty());
}

TEST(DebugTax, EveryKindHasASymbolOfItsOwn) {
    constexpr std::pair<std::string_view, std::string_view> kKinds[] = {{"__asan_store4", "kasan"},
                                                                        {"__tsan_read8", "kcsan"},
                                                                        {"__msan_warning", "kmsan"},
                                                                        {"__ubsan_handle_out_of_bounds", "ubsan"},
                                                                        {"__sanitizer_cov_trace_pc", "kcov"},
                                                                        {"lock_release", "lockdep"},
                                                                        {"check_poison_mem", "page_poisoning"},
                                                                        {"__kernel_map_pages", "debug_pagealloc"},
                                                                        {"check_bytes_and_report.isra.0", "slub_debug"},
                                                                        {"kmemleak_alloc", "kmemleak"},
                                                                        {"debug_object_activate", "debug_objects"},
                                                                        {"debug_smp_processor_id", "debug_preempt"}};
    for (const auto& [symbol, kind] : kKinds) {
        ObservedProfile p;
        p.rest(900).kernel({symbol, "vfs_read"}, 100);
        const auto taxes = debug_tax(p.profile, 0);
        ASSERT_EQ(taxes.size(), 1U) << symbol;
        EXPECT_EQ(taxes[0].kind, kind);
        ObservedProfile instrumented;
        instrumented.rest(900).stack({user(std::string(symbol)), user("main")}, 100);
        EXPECT_FALSE(instrumented.fires("debug_kernel")) << symbol << " of a program built with sanitizers";
    }
}

TEST(DebugTax, InlineInstrumentationShowsInTheSettingsAlone) {
    ObservedProfile p;
    p.rest(1000).config("CONFIG_KASAN", "n").config("CONFIG_PROVE_LOCKING", "n");
    EXPECT_FALSE(p.fires("debug_kernel"));
    p.profile.host.kernel_config[0].value = "y";
    EXPECT_EQ(p.find("debug_kernel").severity, Severity::kNotice);
    EXPECT_EQ(p.find("debug_kernel").evidence, "The kernel was set up for debugging: CONFIG_KASAN=y.");
    p.config("CONFIG_KASAN_HW_TAGS", "y");
    EXPECT_FALSE(p.fires("debug_kernel")) << "made for production";
}

TEST(DebugTax, ParametersThatSwitchItOn) {
    const auto fires = [](std::string line) {
        ObservedProfile p;
        p.rest(1000).profile.host.kernel_command_line = std::move(line);
        return p.fires("debug_kernel");
    };
    EXPECT_TRUE(fires("quiet slub_debug"));
    EXPECT_TRUE(fires("slab_debug=FZP"));
    EXPECT_TRUE(fires("page_poison=1"));
    EXPECT_TRUE(fires("debug_pagealloc=on"));
    EXPECT_FALSE(fires("slub_debug=-"));
    EXPECT_FALSE(fires("slub_debug=F,kmalloc-64"));
    EXPECT_FALSE(fires("debug_pagealloc=off page_poison=0 debug"));
}

}  // namespace
}  // namespace perfvigil::analyzer
