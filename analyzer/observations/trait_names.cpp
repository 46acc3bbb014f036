// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/observations/trait_names.hpp"

#include <algorithm>
#include <vector>

namespace perfvigil::analyzer {
namespace {

struct Group {
    Trait trait;
    std::span<const std::string_view> names;
};

using Names = std::string_view[];

constexpr Names kSrso = {"srso_alias_safe_ret"};  // the rest by prefix
constexpr Names kRetbleed = {"zen_untrain_ret", "call_depth_return_thunk"};
constexpr Names kIts = {"its_return_thunk"};
constexpr Names kReturnThunk = {"__x86_return_thunk", "entry_untrain_ret"};
constexpr Names kIbpb = {"entry_ibpb", "write_ibpb"};
constexpr Names kL1dFlush = {"vmx_l1d_flush"};

constexpr Names kUsercopy = {"__check_object_size", "__check_heap_object", "check_heap_object",
                             "check_stack_object",  "check_page_span",     "check_kernel_text_object",
                             "check_bogus_address"};
constexpr Names kStackErase = {"__sanitizer_cov_stack_depth"};  // the plugin's successor, 6.17
// Not by prefix: clear_page_dirty_for_io clears no page.
constexpr Names kClearing = {"clear_page",     "clear_page_erms",  "clear_page_rep",  "clear_page_orig", "clear_page_c",
                             "clear_page_c_e", "clear_pages_erms", "clear_pages_rep", "memset",          "__memset",
                             "memset_erms",    "memset_orig",      "__pi_memset",     "__pi_clear_page"};
constexpr Names kClearingHelper = {"kernel_init_pages", "kernel_init_free_pages", "clear_highpage_kasan_tagged",
                                   "clear_highpages_kasan_tagged", "clear_highpage"};
constexpr Names kPageAllocation = {"post_alloc_hook", "prep_new_page", "get_page_from_freelist", "alloc_pages_bulk"};
constexpr Names kSlabAllocation = {"slab_post_alloc_hook", "slab_alloc_node", "___slab_alloc",
                                   "__slab_alloc",         "kmalloc_trace",   "allocate_slab"};
constexpr Names kPageFree = {"free_pages_prepare",   "free_pcp_prepare",     "__free_pages_ok",
                             "free_unref_page",      "free_unref_page_list", "free_unref_folios",
                             "__free_pages_prepare", "free_frozen_pages",    "__free_frozen_pages"};
constexpr Names kSlabFree = {"slab_free_hook", "kmem_cache_free", "kmem_cache_free_bulk",
                             "kfree",          "__slab_free",     "slab_free_freelist_hook"};
constexpr Names kZeroOnDemand = {"do_anonymous_page",
                                 "do_huge_pmd_anonymous_page",
                                 "vma_alloc_anon_folio_pmd",
                                 "vma_alloc_zeroed_movable_folio",
                                 "alloc_anon_folio",
                                 "clear_huge_page",
                                 "folio_zero_user",
                                 "clear_user_highpage",
                                 "clear_subpage",
                                 "wp_page_copy",
                                 "pte_alloc_one",
                                 "__pte_alloc",
                                 "__pte_alloc_kernel",
                                 "__pmd_alloc",
                                 "__pud_alloc",
                                 "__p4d_alloc",
                                 "pgd_alloc",
                                 "get_zeroed_page",
                                 "get_zeroed_page_noprof",
                                 "hugetlb_no_page",
                                 "shmem_get_folio_gfp",
                                 "shmem_getpage_gfp",
                                 "shmem_fault",
                                 "alloc_zeroed_user_highpage_movable"};

constexpr Names kKasan = {"check_region_inline"};
constexpr Names kKcov = {"write_comp_data"};
constexpr Names kLockdep = {"lock_acquire",
                            "lock_release",
                            "__lock_acquire",
                            "__lock_release",
                            "lock_is_held_type",
                            "mark_lock",
                            "mark_held_locks",
                            "check_prev_add",
                            "check_chain_key",
                            "check_wait_context",
                            "check_noncircular",
                            "check_irq_usage",
                            "find_held_lock",
                            "validate_chain",
                            "register_lock_class",
                            "hlock_class",
                            "__bfs"};
constexpr Names kPagePoison = {"kernel_poison_pages", "__kernel_poison_pages", "__kernel_unpoison_pages",
                               "check_poison_mem",    "poison_page",           "unpoison_page"};
constexpr Names kDebugPagealloc = {"__kernel_map_pages", "debug_pagealloc_map_pages", "debug_pagealloc_unmap_pages"};
constexpr Names kSlubDebug = {
    "check_bytes_and_report", "check_object",          "check_slab",     "init_object",     "on_freelist",
    "alloc_debug_processing", "free_debug_processing", "slab_pad_check", "check_pad_bytes", "set_track_prepare",
    "set_track_update",       "setup_object_debug"};
constexpr Names kKmemleak = {"scan_block", "__create_object", "create_object", "delete_object_full",
                             "__find_and_remove_object"};
constexpr Names kDebugObjects = {"__debug_object_init", "debug_check_no_obj_freed", "__debug_check_no_obj_freed"};
constexpr Names kDebugPreempt = {"debug_smp_processor_id", "check_preemption_disabled", "__this_cpu_preempt_check"};

constexpr Names kSpinning = {"native_queued_spin_lock_slowpath",
                             "queued_spin_lock_slowpath",
                             "__pv_queued_spin_lock_slowpath",
                             "pv_wait_head_or_lock",
                             "pv_wait_node",
                             "kvm_wait",
                             "xen_qlock_wait",
                             "hv_qlock_wait",
                             "__ticket_spin_lock",
                             "kvm_lock_spinning",
                             "resilient_queued_spin_lock_slowpath"};
constexpr Names kRwSpinning = {"queued_read_lock_slowpath", "queued_write_lock_slowpath"};
constexpr Names kOwnerSpinning = {"osq_lock",
                                  "mutex_spin_on_owner",
                                  "rwsem_spin_on_owner",
                                  "rwsem_optimistic_spin",
                                  "mutex_optimistic_spin",
                                  "rtmutex_spin_on_owner"};
constexpr Names kLockApi = {"ww_mutex_lock",
                            "rt_spin_lock",
                            "rt_mutex_slowlock",
                            "call_rwsem_down_read_failed",
                            "call_rwsem_down_write_failed",
                            "rwsem_read_trylock"};

constexpr Names kPageFault = {"exc_page_fault",    "asm_exc_page_fault", "do_page_fault",       "__do_page_fault",
                              "page_fault",        "async_page_fault",   "do_user_addr_fault",  "handle_mm_fault",
                              "__handle_mm_fault", "do_mem_abort",       "do_translation_fault"};
constexpr Names kTlbFlush = {"arch_tlbbatch_flush",    "try_to_unmap_flush",  "try_to_unmap_flush_dirty",
                             "do_flush_tlb_all",       "kvm_flush_tlb_multi", "kvm_flush_tlb_others",
                             "hyperv_flush_tlb_multi", "xen_flush_tlb_multi", "do_kernel_range_flush"};
constexpr Names kCrossCall = {"smp_call_function_many_cond", "smp_call_function_many", "smp_call_function_single",
                              "generic_exec_single",         "on_each_cpu_cond_mask",  "csd_lock_wait"};
constexpr Names kDirectReclaim = {
    "try_to_free_pages", "do_try_to_free_pages", "__alloc_pages_direct_reclaim", "try_to_free_mem_cgroup_pages",
    "node_reclaim",      "__node_reclaim"};
constexpr Names kReclaim = {
    "shrink_node", "shrink_lruvec", "shrink_folio_list",    "shrink_page_list",   "shrink_slab",
    "shrink_zone", "shrink_zones",  "shrink_inactive_list", "shrink_active_list", "balance_pgdat",
    "kswapd",      "shrink_one",    "evict_folios"};
constexpr Names kCompaction = {"compact_zone",      "try_to_compact_pages",       "kcompactd",
                               "kcompactd_do_work", "isolate_migratepages_block", "isolate_freepages_block",
                               "compaction_alloc"};
constexpr Names kKernelCopy = {"rep_movs_alternative",
                               "_copy_to_iter",
                               "_copy_from_iter",
                               "copyin",
                               "copyout",
                               "raw_copy_to_user",
                               "raw_copy_from_user",
                               "memcpy",
                               "__memcpy",
                               "memcpy_erms",
                               "memcpy_orig",
                               "memmove",
                               "__memmove",
                               "memmove_erms",
                               "__pi_memcpy",
                               "__copy_user_nocache",
                               "copy_user_enhanced_fast_string",
                               "copy_user_erms",
                               "copy_user_generic",
                               "copy_user_generic_string",
                               "copy_user_generic_unrolled",
                               "copy_page",
                               "copy_page_erms",
                               "copy_page_rep",
                               "copy_page_regs",
                               "copy_mc_enhanced_fast_string",
                               "copy_page_to_iter",
                               "copy_page_from_iter"};

constexpr Names kFutex = {
    "do_futex",       "futex_wait",           "futex_wake", "__futex_wait", "__x64_sys_futex",  "__se_sys_futex",
    "__do_sys_futex", "__arm64_sys_futex",    "SyS_futex",  "sys_futex",    "__ia32_sys_futex", "futex_requeue",
    "futex_lock_pi",  "__x64_sys_futex_waitv"};
constexpr Names kSyscallEntry = {"do_syscall_64",         "x64_sys_call",         "syscall_return_via_sysret",
                                 "system_call",           "system_call_fastpath", "system_call_after_swapgs",
                                 "sysret_check",          "ret_from_sys_call",    "do_fast_syscall_32",
                                 "entry_SYSENTER_compat", "do_el0_svc",           "invoke_syscall",
                                 "el0t_64_sync",          "el0t_64_sync_handler"};
constexpr Names kIrqEnabling = {"_raw_spin_unlock_irqrestore",
                                "_raw_spin_unlock_irq",
                                "_raw_read_unlock_irqrestore",
                                "_raw_write_unlock_irqrestore",
                                "_raw_read_unlock_irq",
                                "_raw_write_unlock_irq",
                                "finish_task_switch",
                                "exc_page_fault",
                                "do_syscall_64",
                                "syscall_enter_from_user_mode",
                                "handle_softirqs",
                                "__do_softirq",
                                "__local_bh_enable_ip",
                                "irqentry_exit_to_user_mode",
                                "exit_to_user_mode_loop",
                                "exit_to_user_mode_prepare",
                                "el0_svc"};

constexpr Group kGroups[] = {
    {Trait::kSrso, kSrso},
    {Trait::kRetbleed, kRetbleed},
    {Trait::kReturnThunk, kReturnThunk},
    {Trait::kIts, kIts},
    {Trait::kIbpb, kIbpb},
    {Trait::kL1dFlush, kL1dFlush},
    {Trait::kUsercopy, kUsercopy},
    {Trait::kStackErase, kStackErase},
    {Trait::kClearing, kClearing},
    {Trait::kClearingHelper, kClearingHelper},
    {Trait::kPageAllocation, kPageAllocation},
    {Trait::kSlabAllocation, kSlabAllocation},
    {Trait::kPageFree, kPageFree},
    {Trait::kSlabFree, kSlabFree},
    {Trait::kZeroOnDemand, kZeroOnDemand},
    {Trait::kKasan, kKasan},
    {Trait::kKcov, kKcov},
    {Trait::kLockdep, kLockdep},
    {Trait::kPagePoison, kPagePoison},
    {Trait::kDebugPagealloc, kDebugPagealloc},
    {Trait::kSlubDebug, kSlubDebug},
    {Trait::kKmemleak, kKmemleak},
    {Trait::kDebugObjects, kDebugObjects},
    {Trait::kDebugPreempt, kDebugPreempt},
    {Trait::kSpinning, kSpinning},
    {Trait::kRwSpinning, kRwSpinning},
    {Trait::kOwnerSpinning, kOwnerSpinning},
    {Trait::kLockApi, kLockApi},
    {Trait::kPageFault, kPageFault},
    {Trait::kTlbFlush, kTlbFlush},
    {Trait::kCrossCall, kCrossCall},
    {Trait::kDirectReclaim, kDirectReclaim},
    {Trait::kReclaim, kReclaim},
    {Trait::kCompaction, kCompaction},
    {Trait::kKernelCopy, kKernelCopy},
    {Trait::kFutex, kFutex},
    {Trait::kSyscallEntry, kSyscallEntry},
    {Trait::kIrqEnabling, kIrqEnabling},
};

std::vector<NamedTrait> sorted() {
    std::vector<NamedTrait> all;
    for (const auto& [trait, names] : kGroups) {
        for (const std::string_view name : names) all.push_back({name, trait});
    }
    std::ranges::sort(all, {}, &NamedTrait::name);
    return all;
}

}  // namespace

std::span<const NamedTrait> kernel_names() {
    static const std::vector<NamedTrait> all = sorted();
    return all;
}

}  // namespace perfvigil::analyzer
