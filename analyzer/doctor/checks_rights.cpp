// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "analyzer/doctor/checks.hpp"

namespace perfvigil::analyzer::doctor {
namespace {

struct Need {
    Capability capability;
    std::string_view name;
    std::string_view what;  // cannot be had without it
};
constexpr std::array kNeeds{
    Need{Capability::kPerfmon, "CAP_PERFMON", "record other users' programs and the kernel"},
    Need{Capability::kSyslog, "CAP_SYSLOG", "see the kernel's addresses"},
    Need{Capability::kSysPtrace, "CAP_SYS_PTRACE", "see the mappings and files of other users' processes"},
    Need{Capability::kDacReadSearch, "CAP_DAC_READ_SEARCH", "read programs that are not world-readable"},
};

// kernel/events/core.c, kernel/ksyms_common.c
bool is_granted_otherwise(const Facts& facts, Capability capability) {
    const auto paranoid = facts.paranoid.value_or(2);
    if (capability == Capability::kPerfmon) return facts.process.has(Capability::kSysAdmin) || paranoid <= 0;
    return capability == Capability::kSyslog && facts.kptr_restrict.value_or(1) == 0 && paranoid <= 1;
}

std::string kib(std::uint64_t bytes) { return fmt::format("{} KiB", bytes >> 10U); }

}  // namespace

// kernel/events/core.c; what lies above 2 is a patch of Debian and others, so a trial decides.
Finding check_paranoid(const Facts& facts) {
    Finding made{.check = "paranoid"};
    if (!facts.paranoid) {
        made.verdict = Verdict::kUnknown;
        made.evidence = "kernel.perf_event_paranoid cannot be read";
        return made;
    }
    made.evidence = fmt::format("kernel.perf_event_paranoid is {}", *facts.paranoid);
    const bool works = opens_clock(facts);
    if (works && *facts.paranoid > 2) {
        made.evidence += fmt::format(", and {} may record all the same", facts.process.name);
    } else if (*facts.paranoid > 2 && !facts.process.has(Capability::kSysAdmin)) {
        made.verdict = Verdict::kBroken;
        made.evidence += fmt::format(
            ": above 2 only CAP_SYS_ADMIN may record where the distribution added that, and {} does not have it",
            facts.process.name);
        made.remedy = "sysctl kernel.perf_event_paranoid=2 (perfvigil doctor --fix sysctl), or add CAP_SYS_ADMIN";
        made.reason = "paranoid";
    } else if (*facts.paranoid > 0 && !facts.process.may_profile()) {
        made.verdict = Verdict::kBroken;
        made.evidence += fmt::format(": whole CPUs need CAP_PERFMON, and {} does not have it", facts.process.name);
        made.remedy = "run as root, or grant CAP_PERFMON (systemd: AmbientCapabilities=CAP_PERFMON)";
        made.reason = "paranoid";
    } else if (facts.process.may_profile()) {
        made.evidence += fmt::format(", {} may record all the same", facts.process.name);
    }
    return made;
}

Finding check_capabilities(const Facts& facts) {
    Finding made{.check = "capabilities"};
    std::string missing;
    std::string names;
    for (const Need& need : kNeeds) {
        if (facts.process.has(need.capability) || is_granted_otherwise(facts, need.capability)) continue;
        missing += fmt::format("{}{} (to {})", missing.empty() ? "" : ", ", need.name, need.what);
        names += fmt::format("{}{}", names.empty() ? "" : " ", need.name);
    }
    if (missing.empty()) {
        made.evidence = facts.process.name + " has what it needs";
        return made;
    }
    made.verdict = Verdict::kDegraded;
    made.evidence = fmt::format("{} lacks {}", facts.process.name, missing);
    made.remedy = "run as root, or grant them (systemd: AmbientCapabilities=" + names + ")";
    made.reason = "no_capabilities";
    return made;
}

Finding check_kernel_symbols(const Facts& facts) {
    Finding made{.check = "kernel_symbols"};
    if (facts.kallsyms == Facts::Symbols::kShown) {
        made.evidence = "/proc/kallsyms shows addresses";
        return made;
    }
    if (facts.daemon && !facts.daemon_lacks("no_kernel_symbols")) {
        made.evidence = "perfvigild has the kernel's addresses; this user has not";
        return made;
    }
    made.verdict = Verdict::kDegraded;
    made.reason = "no_kernel_symbols";
    if (facts.kallsyms == Facts::Symbols::kNone) {
        made.evidence = "/proc/kallsyms cannot be read, so the kernel's functions have no names";
        made.remedy = "a sandbox hides it (systemd: ProtectKernelTunables=no, ProcSubset=all)";
        return made;
    }
    made.evidence = "/proc/kallsyms shows zeros instead of addresses, so the kernel's functions have no names";
    if (facts.kptr_restrict.value_or(0) >= 2) {
        made.evidence += "; kernel.kptr_restrict is 2, which hides them from everybody";
        made.remedy = "sysctl kernel.kptr_restrict=1 (perfvigil doctor --fix sysctl)";
        if (!facts.process.has(Capability::kSyslog)) made.remedy += "; and grant CAP_SYSLOG";
    } else {
        made.remedy = "run as root, or grant CAP_SYSLOG (systemd: ProtectKernelLogs=no)";
    }
    return made;
}

// perf_mmap() of kernel/events/core.c: perf_event_mlock_kb per CPU and user, then RLIMIT_MEMLOCK.
Finding check_locked_memory(const Facts& facts) {
    Finding made{.check = "locked_memory"};
    const ProcessFacts& process = facts.process;
    const bool exempt = process.has(Capability::kIpcLock) || facts.paranoid.value_or(2) == -1;
    const std::uint64_t granted =
        static_cast<std::uint64_t>(std::max<std::int64_t>(facts.mlock_kib.value_or(0), 0)) * 1024 * facts.cpus_online;
    const std::string needed = fmt::format("the rings need {}", kib(facts.ring_bytes));
    if (!facts.sys_readable) {
        made.verdict = Verdict::kUnknown;
        made.evidence = "what the rings need is not known: /sys cannot be read";
        return made;
    }
    if (exempt) {
        made.evidence = needed + ", and CAP_IPC_LOCK lifts every limit";
    } else if (!process.locked_max) {
        made.evidence = needed + ", and RLIMIT_MEMLOCK is unlimited";
    } else if (granted + *process.locked_max >= facts.ring_bytes) {
        made.evidence = fmt::format("{}; kernel.perf_event_mlock_kb and RLIMIT_MEMLOCK allow {}", needed,
                                    kib(granted + *process.locked_max));
    } else if (!facts.mlock_kib) {
        made.verdict = Verdict::kUnknown;
        made.evidence = needed + "; kernel.perf_event_mlock_kb cannot be read";
    } else {
        made.verdict = Verdict::kDegraded;
        made.evidence = fmt::format(
            "{}, but kernel.perf_event_mlock_kb and RLIMIT_MEMLOCK allow {}: smaller rings are "
            "used, which lose samples sooner",
            needed, kib(granted + *process.locked_max));
        made.remedy = "raise RLIMIT_MEMLOCK (systemd: LimitMEMLOCK=infinity), or grant CAP_IPC_LOCK";
        made.reason = "small_rings";
    }
    return made;
}

Finding check_open_files(const Facts& facts) {
    Finding made{.check = "open_files"};
    constexpr std::uint64_t kOthers = 64;  // sockets, stores, files to be read
    if (!facts.sys_readable) {
        made.verdict = Verdict::kUnknown;
        made.evidence = "what is needed is not known: /sys cannot be read";
        return made;
    }
    // Twice: another rate or ring is opened beside what is there.
    const std::uint64_t needed = 2 * facts.cpus_online * (facts.events + 1) + kOthers;
    if (!facts.process.files_max) {
        made.evidence = fmt::format("about {} are needed, RLIMIT_NOFILE is unlimited", needed);
        return made;
    }
    made.evidence = fmt::format("about {} are needed, RLIMIT_NOFILE allows {}", needed, *facts.process.files_max);
    if (*facts.process.files_max >= needed) return made;
    // Whoever may raises it when events are refused (EventKernel::raise_file_limit).
    const bool enough = *facts.process.files_max * 2 >= needed || facts.process.has(Capability::kSysResource);
    made.verdict = enough ? Verdict::kDegraded : Verdict::kBroken;
    made.remedy = fmt::format("raise RLIMIT_NOFILE (systemd: LimitNOFILE={})", 2 * needed);
    made.reason = "open_files";
    return made;
}

Finding check_sandbox(const Facts& facts) {
    Finding made{.check = "sandbox"};
    std::string seen;
    std::string remedy;
    const auto add = [](std::string& list, std::string_view text) {
        if (!list.empty()) list += "; ";
        list += text;
    };
    if (!facts.process.initial_user_namespace) {
        made.verdict = Verdict::kBroken;
        add(seen, facts.process.name +
                      " runs in a user namespace of its own, where capabilities do not count for perf_event_open");
        add(remedy, "PrivateUsers=no, or run outside the rootless container");
    }
    if (!facts.process.initial_pid_namespace) {
        add(seen, facts.process.name +
                      " runs in a PID namespace of its own: the processes outside have no names, units and mappings");
        add(remedy, "share the host's (containers: --pid=host; systemd: PrivatePIDs=no)");
    }
    if (!facts.sys_readable) {
        made.verdict = Verdict::kBroken;
        add(seen, "/sys/devices/system/cpu cannot be read: it is not known which CPUs there are");
        add(remedy, "let /sys be seen (containers: mount sysfs, read-only will do)");
    }
    if (!facts.proc_sys_readable) {
        add(seen, "/proc/sys/kernel cannot be read");
        add(remedy, "ProcSubset=all");
    }
    if (!facts.modules_readable) {
        add(seen, fmt::format("/lib/modules/{} cannot be read: the code of modules is not seen", facts.release));
        add(remedy, "ProtectKernelModules=no; or the running kernel's files were removed");
    }
    if (facts.kallsyms == Facts::Symbols::kNone) {
        add(seen, "/proc/kallsyms is hidden");
        add(remedy, "ProtectKernelTunables=no");
    }
    if (seen.empty()) {
        made.evidence = facts.process.seccomp == 2 ? "a system call filter is in force, and nothing needed is hidden"
                                                   : "nothing needed is hidden";
        return made;
    }
    if (made.verdict == Verdict::kOk) made.verdict = Verdict::kDegraded;
    made.evidence = seen;
    made.remedy = remedy;
    made.reason = "sandbox";
    return made;
}

}  // namespace perfvigil::analyzer::doctor
