// SPDX-License-Identifier: GPL-2.0-or-later
// Kernel functions by name, each with what it is a sign of. Old names stay: captures of old kernels are read too.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "analyzer/observations/traits.hpp"

namespace perfvigil::analyzer {

struct NamedTrait {
    std::string_view name;
    Trait trait;
};

// Whole names without clone suffix, sorted by name; a name may stand more than once.
[[nodiscard]] std::span<const NamedTrait> kernel_names();

// The first that fits counts, beside what the whole name says.
inline constexpr auto kKernelPrefixes = std::to_array<NamedTrait>({
    {"srso_", Trait::kSrso},
    {"retbleed_", Trait::kRetbleed},
    {"__x86_indirect_its_", Trait::kIts},
    {"__x86_indirect_", Trait::kRetpoline},
    {"clear_bhb_loop", Trait::kBhi},
    {"stackleak_", Trait::kStackErase},
    {"__alloc_pages", Trait::kPageAllocation},  // and _noprof, since 6.10
    {"__alloc_frozen_pages", Trait::kPageAllocation},
    {"kmem_cache_alloc", Trait::kSlabAllocation},
    {"__kmalloc", Trait::kSlabAllocation},
    {"__asan_", Trait::kKasan},
    {"__hwasan_", Trait::kKasan},
    {"kasan_", Trait::kKasan},
    {"__kasan_", Trait::kKasan},
    {"__tsan_", Trait::kKcsan},
    {"kcsan_", Trait::kKcsan},
    {"__kcsan_", Trait::kKcsan},
    {"__msan_", Trait::kKmsan},
    {"kmsan_", Trait::kKmsan},
    {"__ubsan_", Trait::kUbsan},
    {"__sanitizer_cov_trace_", Trait::kKcov},
    {"lockdep_", Trait::kLockdep},
    {"kmemleak_", Trait::kKmemleak},
    {"debug_object_", Trait::kDebugObjects},
    {"_raw_spin_", Trait::kLockApi},
    {"_raw_read_", Trait::kLockApi},
    {"_raw_write_", Trait::kLockApi},
    {"__raw_spin_", Trait::kLockApi},
    {"__mutex_lock", Trait::kLockApi},
    {"mutex_lock", Trait::kLockApi},
    {"__rwsem_", Trait::kLockApi},
    {"rwsem_down_", Trait::kLockApi},
    {"down_read", Trait::kLockApi},
    {"down_write", Trait::kLockApi},
    {"__down_read", Trait::kLockApi},
    {"__down_write", Trait::kLockApi},
    {"native_flush_tlb_", Trait::kTlbFlush},
    {"flush_tlb_", Trait::kTlbFlush},
    {"__arch_copy_", Trait::kKernelCopy},  // arm64
    {"entry_SYSCALL_64", Trait::kSyscallEntry},
    {"syscall_enter_from_user_mode", Trait::kSyscallEntry},
    {"syscall_exit_to_user_mode", Trait::kSyscallEntry},
    {"el0_svc", Trait::kSyscallEntry},  // arm64
});

}  // namespace perfvigil::analyzer
