// SPDX-License-Identifier: GPL-2.0-or-later
// What a function's name says about it, looked up once per function: a set of traits as bits. Kernel traits belong to
// kernel functions only; a user function of the same name has none. Knows names, not stacks and not what is enabled.
#pragma once

#include <cstddef>
#include <cstdint>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

enum class Trait : std::uint8_t {
    // Mitigations' code (arch/x86/lib/retpoline.S, entry/entry.S).
    kSrso,
    kRetbleed,
    kReturnThunk,  // of srso, retbleed or ITS, as the kernel patched it
    kRetpoline,
    kIts,
    kBhi,
    kIbpb,
    kL1dFlush,
    // Hardening.
    kUsercopy,
    kStackErase,
    kClearing,        // clear_page_*, memset: of whoever calls
    kClearingHelper,  // kernel_init_pages … between them
    kPageAllocation,
    kSlabAllocation,
    kPageFree,
    kSlabFree,
    kZeroOnDemand,  // its caller wants zeroed memory whatever the kernel's settings
    // Debugging.
    kKasan,
    kKcsan,
    kKmsan,
    kUbsan,
    kKcov,
    kLockdep,
    kPagePoison,
    kDebugPagealloc,
    kSlubDebug,
    kKmemleak,
    kDebugObjects,
    kDebugPreempt,
    // Locks.
    kSpinning,       // the slow path of a spin lock
    kRwSpinning,     // of a reader-writer spin lock
    kOwnerSpinning,  // a sleeping lock's optimistic spinning
    kLockApi,        // between the slow path and the code that wants the lock
    // Memory.
    kPageFault,
    kTlbFlush,
    kCrossCall,  // waiting for other CPUs to run a function
    kDirectReclaim,
    kReclaim,
    kCompaction,
    kKernelCopy,
    kUserCopyRoutine,  // memcpy and its kin in libc
    // Ways into the kernel.
    kFutex,
    kSyscallEntry,
    kInterrupt,    // what runs inside is not the task's doing
    kIrqEnabling,  // ends a stretch with interrupts off
    kPollIdle,
    // User code.
    kFrameless,  // hand-written code without a frame of its own
    kCallsMain,  // calls main and nothing else
    kMain,
    kCount,
};
inline constexpr std::size_t kTraits = static_cast<std::size_t>(Trait::kCount);
static_assert(kTraits <= 64);

using Traits = std::uint64_t;
[[nodiscard]] constexpr std::size_t index_of(Trait trait) { return static_cast<std::size_t>(trait); }
template <class... More>
[[nodiscard]] constexpr Traits bits(Trait first, More... more) {
    return ((Traits{1} << index_of(first)) | ... | (Traits{1} << index_of(more)));
}
[[nodiscard]] constexpr bool has(Traits set, Trait trait) { return (set & bits(trait)) != 0; }

[[nodiscard]] Traits traits_of(const ProfileFunction& function);

}  // namespace perfvigil::analyzer
