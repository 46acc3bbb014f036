// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/sandbox.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "analyzer/symbols/child_protocol.hpp"
#include "base/fd.hpp"

namespace perfvigil::analyzer {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

Result<void> drop_capabilities() {
    // Best effort: the bounding set needs CAP_SETPCAP, and without a set to inherit from it is moot.
    for (int cap = 0; ::prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap) (void)::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
    if (::syscall(SYS_capset, &header, none.data()) != 0) return fail_errno(errno, "capset");
    return {};
}

Result<void> set_limit(__rlimit_resource resource, rlim_t value, const char* what) {
    const rlimit limit{.rlim_cur = value, .rlim_max = value};
    if (::setrlimit(resource, &limit) != 0) return fail_errno(errno, what);
    return {};
}

Result<void> set_limits(const SandboxLimits& limits) {
    if (!kSanitized) {
        if (auto set = set_limit(RLIMIT_AS, limits.address_space, "RLIMIT_AS"); !set) return set;
    }
    if (auto set = set_limit(RLIMIT_FSIZE, limits.file_size, "RLIMIT_FSIZE"); !set) return set;
    if (auto set = set_limit(RLIMIT_CORE, 0, "RLIMIT_CORE"); !set) return set;
    // 0..2, the socket, and one request's descriptors; the sanitizers probe memory through pipes.
    const auto descriptors = kChildSocket + 1 + kMaxRequestDescriptors;
    return set_limit(RLIMIT_NOFILE, kSanitized ? 64 : descriptors, "RLIMIT_NOFILE");
}

// --- seccomp: a list of what is allowed; everything else fails with EPERM

constexpr sock_filter statement(unsigned code, std::uint32_t k) {
    return {.code = static_cast<std::uint16_t>(code), .jt = 0, .jf = 0, .k = k};
}
constexpr sock_filter jump(unsigned code, std::uint32_t k, std::uint8_t if_true, std::uint8_t if_false) {
    return {.code = static_cast<std::uint16_t>(code), .jt = if_true, .jf = if_false, .k = k};
}
constexpr sock_filter load(std::size_t offset) {
    return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
constexpr sock_filter verdict(std::uint32_t action) { return statement(BPF_RET | BPF_K, action); }

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t kDeny = SECCOMP_RET_ERRNO | EPERM;

// The low half of argument `n`; all flags that are looked at fit.
constexpr std::size_t argument(std::size_t n) {
    const std::size_t low = std::endian::native == std::endian::little ? 0 : 4;
    return offsetof(seccomp_data, args) + n * sizeof(std::uint64_t) + low;
}

class Filter {
public:
    explicit Filter(std::uint32_t architecture) {
        code_ = {load(offsetof(seccomp_data, arch)), jump(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0),
                 verdict(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))};
    }
    void allow(std::initializer_list<long> calls) {
        for (const long call : calls) {
            code_.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
            code_.push_back(verdict(kAllow));
        }
    }
    // Allowed when all bits of `wanted` and none of `forbidden` are set in the argument.
    void allow_flags(long call, std::size_t wanted_in, std::uint32_t wanted, std::size_t forbidden_in,
                     std::uint32_t forbidden) {
        const std::array body{load(argument(forbidden_in)),
                              jump(BPF_JMP | BPF_JSET | BPF_K, forbidden, 3, 0),
                              load(argument(wanted_in)),
                              statement(BPF_ALU | BPF_AND | BPF_K, wanted),
                              jump(BPF_JMP | BPF_JEQ | BPF_K, wanted, 1, 0),
                              verdict(kDeny),
                              verdict(kAllow)};
        code_.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, body.size()));
        code_.insert(code_.end(), body.begin(), body.end());
    }
    void allow_value(long call, std::size_t in, std::uint32_t value) {
        const std::array body{load(argument(in)), jump(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), verdict(kAllow),
                              verdict(kDeny)};
        code_.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, body.size()));
        code_.insert(code_.end(), body.begin(), body.end());
    }
    Result<void> install() {
        code_.push_back(verdict(kDeny));
        const sock_fprog program{.len = static_cast<unsigned short>(code_.size()), .filter = code_.data()};
        if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) return fail_errno(errno, "seccomp");
        return {};
    }

private:
    std::vector<sock_filter> code_;
};

Result<void> restrict_system_calls() {
#if defined(__x86_64__)
    Filter filter(AUDIT_ARCH_X86_64);
#elif defined(__aarch64__)
    Filter filter(AUDIT_ARCH_AARCH64);
#else
    return fail(ErrorCode::kUnsupported, "no list of system calls for this architecture");
#endif
#if defined(__x86_64__) || defined(__aarch64__)
    filter.allow({SYS_pread64,   SYS_read,          SYS_write,     SYS_close,           SYS_lseek,
                  SYS_fstat,     SYS_newfstatat,    SYS_fcntl,     SYS_recvmsg,         SYS_sendmsg,
                  SYS_munmap,    SYS_mremap,        SYS_brk,       SYS_madvise,         SYS_futex,
                  SYS_getrandom, SYS_clock_gettime, SYS_getrusage, SYS_rt_sigreturn,    SYS_rt_sigprocmask,
                  SYS_getpid,    SYS_gettid,        SYS_tgkill,    SYS_restart_syscall, SYS_exit,
                  SYS_exit_group});
    filter.allow_flags(SYS_mmap, 3, MAP_ANONYMOUS, 2, PROT_EXEC);  // memory, no files, no code
    filter.allow_flags(SYS_mprotect, 2, 0, 2, PROT_EXEC);
    filter.allow_value(SYS_prlimit64, 1, RLIMIT_CPU);
    return filter.install();
#endif
}

void ignore_signals_for_the_parent() {
    // A terminal's ^C and systemd's SIGTERM reach the whole group, while the parent still has a window to finish; we
    // end when it closes the socket.
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ}) (void)std::signal(number, SIG_IGN);
}

void offer_ourselves_to_the_oom_killer() {
    if (auto fd = open_file("/proc/self/oom_score_adj", O_WRONLY)) {
        constexpr std::string_view kScore = "900";
        // Without it we are merely no better a victim than others.
        [[maybe_unused]] const auto written = write_all(fd->get(), std::as_bytes(std::span(kScore)));
    }
}

}  // namespace

Result<void> enter_sandbox(const SandboxLimits& limits) {
    ignore_signals_for_the_parent();
    offer_ourselves_to_the_oom_killer();
    if (::syscall(SYS_close_range, kChildSocket + 1, ~0U, 0) != 0 && errno != ENOSYS) {
        return fail_errno(errno, "close_range");
    }
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno(errno, "PR_SET_NO_NEW_PRIVS");
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return fail_errno(errno, "PR_SET_DUMPABLE");
    if (auto dropped = drop_capabilities(); !dropped) return dropped;
    if (auto limited = set_limits(limits); !limited) return limited;
    return kSanitized ? Result<void>{} : restrict_system_calls();
}

void limit_cpu_from_now(std::uint32_t seconds) {
    rusage used{};
    (void)::getrusage(RUSAGE_SELF, &used);
    const auto spent = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
    const rlimit limit{.rlim_cur = spent + seconds + 1, .rlim_max = RLIM_INFINITY};
    (void)::setrlimit(RLIMIT_CPU, &limit);
}

}  // namespace perfvigil::analyzer
