// SPDX-License-Identifier: GPL-2.0-or-later
// Why an event or a ring could not be had, in words: the part of negotiation.hpp that finds nothing out.
#include <cerrno>

#include <fmt/format.h>

#include "collector/negotiation.hpp"

namespace perfvigil::collector {
namespace {

Error permission_error(EventKernel& kernel, const RecordingOptions& options, std::string_view what, int error_number) {
    const auto paranoid = kernel.setting("perf_event_paranoid");
    const bool whole_cpus = std::holds_alternative<AllCpus>(options.target);
    std::string why;
    if (!paranoid) {
        why = "kernel.perf_event_paranoid cannot be read; run as root or grant CAP_PERFMON";
    } else if (*paranoid > 2) {
        why = fmt::format(
            "kernel.perf_event_paranoid is {}, and above 2 this distribution's kernel wants CAP_SYS_ADMIN, CAP_PERFMON "
            "is not enough; run as root, or set sysctl kernel.perf_event_paranoid=2 (as the shipped 60-perfvigil.conf "
            "does), or add CAP_SYS_ADMIN (systemd: AmbientCapabilities= and CapabilityBoundingSet=, as the shipped "
            "debian-paranoid.conf does)",
            *paranoid);
    } else if (whole_cpus) {
        why = fmt::format(
            "recording whole CPUs needs CAP_PERFMON in the initial user namespace (kernel.perf_event_paranoid is {}); "
            "run as root, or grant it (systemd: AmbientCapabilities=CAP_PERFMON without PrivateUsers=), or set sysctl "
            "kernel.perf_event_paranoid=0",
            *paranoid);
    } else {
        why = fmt::format(
            "the process is not ours to record (kernel.perf_event_paranoid is {}); run as its user or as root, or "
            "grant CAP_PERFMON",
            *paranoid);
    }
    return {ErrorCode::kPermission, error_number, fmt::format("{}: perf_event_open: Permission denied: {}", what, why)};
}

Error map_error(EventKernel& kernel, std::string_view what, int error_number) {
    if (error_number == EPERM) {
        const auto budget = kernel.setting("perf_event_mlock_kb");
        return {
            ErrorCode::kPermission, error_number,
            fmt::format("{}: mmap: ring memory is over the budget of kernel.perf_event_mlock_kb ({} per CPU and user) "
                        "and RLIMIT_MEMLOCK; raise either (systemd: LimitMEMLOCK=infinity), or grant CAP_IPC_LOCK",
                        what, budget ? fmt::format("{} KiB", *budget) : "unknown")};
    }
    if (error_number == ENOMEM) {
        return {ErrorCode::kExhausted, error_number,
                fmt::format("{}: mmap: not enough memory for the smallest rings", what)};
    }
    return errno_error(error_number, fmt::format("{}: mmap", what));
}

}  // namespace

std::string errno_text(int error_number) { return errno_error(error_number, "").message.substr(2); }

Error open_error(EventKernel& kernel, const RecordingOptions& options, std::string_view what,
                 const OpenFailure& failure) {
    if (failure.step == OpenFailure::Step::kMap) return map_error(kernel, what, failure.error_number);
    const int error_number = failure.error_number;
    const auto say = [&](ErrorCode code, std::string_view why) {
        return Error{code, error_number,
                     fmt::format("{}: perf_event_open: {}: {}", what, errno_text(error_number), why)};
    };
    switch (error_number) {
        case EACCES: return permission_error(kernel, options, what, error_number);
        case EPERM:
            return say(ErrorCode::kPermission,
                       "a system call filter or security module forbids it; allow perf_event_open (systemd: "
                       "SystemCallFilter=perf_event_open; containers: the seccomp profile)");
        case ENOSYS:
            return say(ErrorCode::kUnsupported, "this kernel has no perf events, or a system call filter hides them");
        case ENOENT:
        case ENXIO:
        case EOPNOTSUPP: return say(ErrorCode::kUnsupported, "this machine does not have the event; leave it out");
        case ENODEV: return say(ErrorCode::kUnsupported, "the CPU is offline, or does not have the event");
        case EINVAL:
            return say(ErrorCode::kUnsupported,
                       "the kernel does not understand the event even without newer features; Linux 4.1 is the oldest "
                       "that can");
        case EBUSY: return say(ErrorCode::kBusy, "another program holds the counter exclusively");
        case EMFILE:
            return say(ErrorCode::kExhausted,
                       "RLIMIT_NOFILE is too small for three events per CPU; raise it (systemd: LimitNOFILE=)");
        case ESRCH: return say(ErrorCode::kNotFound, "every thread of the target has ended");
        default: return errno_error(error_number, fmt::format("{}: perf_event_open", what));
    }
}

}  // namespace perfvigil::collector
