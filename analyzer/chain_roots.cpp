// SPDX-License-Identifier: GPL-2.0-or-later
// Names: glibc and musl (csu/, nptl/, src/env), Go's runtime, arch/*/kernel/entry* and head* of Linux.
#include "analyzer/chain_roots.hpp"

#include <algorithm>
#include <array>

#include "analyzer/chain_ends.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
    return std::ranges::find(names, name) != names.end();
}

bool is_c_library(std::string_view dso) {
    static constexpr std::array kStarts =
        std::to_array<std::string_view>({"libc.so", "libc-2", "libc.musl", "libpthread", "ld-musl", "ld-linux"});
    return std::ranges::any_of(kStarts, [name = base_name(dso)](auto start) { return name.starts_with(start); });
}

}  // namespace

bool starts_in_nameless_library(const Profile& profile, const ProfileStack& stack) {
    const auto& functions = stack.functions;
    if (functions.size() < 2) return false;
    const auto& outermost = profile.functions[functions.back()];
    return outermost.reason != UnknownReason::kNone && is_c_library(outermost.dso) &&
           profile.functions[functions[functions.size() - 2]].dso != outermost.dso;
}

bool is_user_root(std::string_view name) {
    static constexpr std::array kNames = std::to_array<std::string_view>({"_start",
                                                                          "__start",
                                                                          "_start_c",
                                                                          "main",
                                                                          "__libc_start_main",
                                                                          "__libc_start_main_impl",
                                                                          "__libc_start_call_main",
                                                                          "__libc_start_main_stage2",
                                                                          "__libc_init",
                                                                          "start_thread",
                                                                          "start",
                                                                          "clone",
                                                                          "clone3",
                                                                          "__clone",
                                                                          "__clone3",
                                                                          "__clone_internal",
                                                                          "thread_start",
                                                                          "__pthread_start",
                                                                          "_dl_start",
                                                                          "_dl_start_user",
                                                                          "_dl_start_final",
                                                                          "__bionic_clone",
                                                                          "runtime.goexit",
                                                                          "runtime.goexit.abi0",
                                                                          "runtime.main",
                                                                          "runtime.mstart",
                                                                          "runtime.mstart.abi0",
                                                                          "runtime.mstart0",
                                                                          "runtime.mstart1",
                                                                          "runtime.rt0_go",
                                                                          "runtime.rt0_go.abi0",
                                                                          "runtime.mcall",
                                                                          "runtime.systemstack",
                                                                          "_rt0_amd64_linux",
                                                                          "lwp_start",
                                                                          "__restore_rt"});
    if (is_one_of(name, kNames)) return true;
    // "__libc_start_main@@GLIBC_2.34", as some text has it.
    return name.starts_with("__libc_start_main@") || name.starts_with("start_thread@");
}

bool is_kernel_root(std::string_view name) {
    static constexpr std::array kNames = std::to_array<std::string_view>({"start_secondary",
                                                                          "start_kernel",
                                                                          "rest_init",
                                                                          "kthread",
                                                                          "kernel_init",
                                                                          "do_syscall_64",
                                                                          "system_call",
                                                                          "system_call_common",
                                                                          "system_call_fastpath",
                                                                          "sysenter_do_call",
                                                                          "syscall_call",
                                                                          "tracesys",
                                                                          "page_fault",
                                                                          "common_interrupt",
                                                                          "apic_timer_interrupt",
                                                                          "general_protection",
                                                                          "smp_apic_timer_interrupt",
                                                                          "error_entry",
                                                                          "vector_swi",
                                                                          "__irq_usr",
                                                                          "__dabt_usr",
                                                                          "__pabt_usr",
                                                                          "cpu_startup_entry",
                                                                          "hypercall_page"});
    static constexpr std::array kPrefixes = std::to_array<std::string_view>(
        {"ret_from_", "ret_fast_syscall", "secondary_start", "__secondary_switched", "__primary_switched",
         "x86_64_start_", "i386_start_kernel", "entry_", "asm_exc_", "asm_sysvec_", "asm_common_interrupt", "asm_int",
         "el0_", "el0t_", "el1h_", "paranoid_", "__entry_text", "handle_exception", "ret_to_user"});
    return is_one_of(name, kNames) ||
           std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

ChainRoots chain_roots(const Profile& profile, std::uint32_t event) {
    ChainEnds ends(profile);
    ChainRoots roots;
    for (const auto& sample : profile.samples) {
        if (sample.event != event || sample.idle) continue;
        const auto& stack = profile.stacks[sample.stack];
        roots.recorded |= stack.functions.size() > 1;
        roots.samples += sample.samples;
        if (ends.of(stack) == ChainEnd::kRooted) roots.rooted += sample.samples;
    }
    return roots;
}

}  // namespace perfvigil::analyzer
