// SPDX-License-Identifier: GPL-2.0-or-later
// What the checks of `perfvigil doctor` judge by: plain values, gathered elsewhere (gather.hpp), so that every check
// can be tried against hosts that we do not have. What could not be read is absent, and its check says so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/symbols/module_layout.hpp"
#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/perf_probe.hpp"
#include "collector/sample_cost.hpp"

namespace perfvigil::analyzer::doctor {

// linux/capability.h
enum class Capability : std::uint8_t {
    kDacReadSearch = 2,
    kIpcLock = 14,
    kSysRawio = 17,
    kSysPtrace = 19,
    kSysAdmin = 21,
    kSysResource = 24,
    kSyslog = 34,
    kPerfmon = 38,
};

// The process that records, or would.
struct ProcessFacts {
    std::string name;                // "this process", "perfvigild"
    bool is_daemon = false;          // the one that writes to the folders
    std::uint64_t capabilities = 0;  // effective
    bool initial_user_namespace = true;
    bool initial_pid_namespace = true;
    int seccomp = 0;                            // 0: off, 2: a filter
    std::optional<std::uint64_t> locked_max{};  // RLIMIT_MEMLOCK, bytes; absent: unlimited
    std::optional<std::uint64_t> files_max{};   // RLIMIT_NOFILE, hard

    // Those of a user namespace of its own do not count for what the kernel guards: perf events, addresses, files.
    [[nodiscard]] bool has(Capability one) const {
        return initial_user_namespace && (capabilities >> static_cast<unsigned>(one) & 1U) != 0;
    }
    // perfmon_capable() of the kernel
    [[nodiscard]] bool may_profile() const { return has(Capability::kPerfmon) || has(Capability::kSysAdmin); }
};

struct FolderFacts {
    std::string key;   // "store.dir"
    std::string path;  // as configured
    std::uint64_t limit = 0;
    std::uint64_t used = 0;               // by what is in it
    std::optional<std::uint64_t> free{};  // for its user, of the file system it is (or would be) on
    std::string file_system{};            // "ext4", "tmpfs"; empty: unknown
    std::string trouble{};                // why it cannot be written; empty: it can
    bool denied = false;                  // to us, which says nothing of others
};

struct CpuPmu {
    std::string name;  // "cpu", "cpu_core", "cpu_atom", "armv8_pmuv3_0"
    std::string cpus;  // "0-7"; empty: all
};

// From a short recording of the host.
struct SampledBinary {
    std::string name;
    std::uint64_t samples = 0;
    std::uint64_t bad = 0;
};
struct SampledFacts {
    Nanoseconds length{};
    std::uint64_t samples = 0;                   // of the clock, idle excluded
    std::vector<SampledBinary> broken{};         // chains through it, and those that ended in it too early
    std::vector<SampledBinary> unnamed{};        // samples in it, and those that its symbols do not name
    std::vector<SampledBinary> unread{};         // … and those for which its file could not be had
    std::uint64_t anonymous = 0;                 // samples in code without a file and without a perf map
    std::vector<std::string> anonymous_comms{};  // of whom
    std::uint64_t kernel_chains = 0;             // samples with kernel frames
    std::uint64_t short_kernel_chains = 0;       // of them with one kernel frame, the sampled instruction
};

struct Facts {
    std::string release;       // uname -r
    std::string architecture;  // uname -m
    std::uint32_t cpus_online = 0;
    std::uint32_t frequency = 99;     // of the configuration
    std::uint64_t ring_bytes = 0;     // of all rings, as configured
    std::size_t events = 2;           // as configured, the side-band event not counted
    std::size_t hardware_events = 1;  // of them
    ProcessFacts process;
    // /proc/sys/kernel
    std::optional<std::int64_t> paranoid;
    std::optional<std::int64_t> kptr_restrict;
    std::optional<std::int64_t> mlock_kib;
    std::optional<std::int64_t> max_sample_rate;
    std::optional<std::int64_t> nmi_watchdog;
    // Kernel symbols as the process sees them.
    enum class Symbols : std::uint8_t { kShown, kZero, kNone } kallsyms = Symbols::kNone;
    bool modules_readable = false;                     // /lib/modules/RELEASE
    std::optional<ModuleLayoutVerdict> module_layout;  // absent: not looked at
    bool proc_sys_readable = false;
    bool sys_readable = false;
    std::vector<CpuPmu> pmus;
    std::vector<std::pair<std::string, std::string>> kernel_config;
    std::string nohz_full;  // CPU list; empty: none
    std::string isolated;
    std::string idle_driver;  // cpuidle; empty: none
    std::string clock_source;
    std::optional<bool> clock_synchronized;
    std::vector<FolderFacts> folders;
    // By trial; empty: not tried.
    std::vector<collector::EventProbe> probes;
    std::optional<collector::SampleCost> sample_cost;
    std::optional<SampledFacts> sampled;
    std::string not_sampled{};  // why, where `sampled` is absent
    // Of the daemon that runs here; absent: none was reached.
    struct Daemon {
        std::string version;
        std::vector<collector::Degraded> degraded;
    };
    std::optional<Daemon> daemon;
    // Records all the same: what this user may not try is for the daemon to say.
    [[nodiscard]] bool daemon_lacks(std::string_view reason) const {
        return daemon &&
               std::ranges::find(daemon->degraded, reason, &collector::Degraded::reason) != daemon->degraded.end();
    }
    std::string no_daemon{};  // why
};

}  // namespace perfvigil::analyzer::doctor
