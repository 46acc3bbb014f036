// SPDX-License-Identifier: GPL-2.0-or-later
// What must be known of the recording host to judge its capture elsewhere or later. Read once at the start (and
// where noted again at the end); stored in captures (perf's own features, and a section of ours) and profiles.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/build_id.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/kernel_modules.hpp"
#include "collector/stream.hpp"

namespace perfvigil::collector {

// A stretch of kernel text with a meaning for accounting; from the recording host's own kallsyms, so a capture can be
// accounted anywhere. See analyzer/slice/kernel_text.hpp for the classes.
struct KernelTextRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint8_t text_class = 0;
};

struct HostFacts {
    std::string hostname;
    std::string os_release;    // uname -r
    std::string os_version;    // uname -v
    std::string architecture;  // uname -m
    std::string cpu_description;
    std::string cpuid;  // perf's vendor,family,model,stepping form
    std::uint64_t total_memory_kib = 0;
    std::uint32_t cpus_online = 0;
    std::uint32_t cpus_present = 0;
    std::string command_line;  // of the recorder
    std::string version;       // of the recorder: "perfvigil 0.1.0"
    BuildId kernel_build_id;
    std::uint64_t kernel_start = 0;          // runtime address of _text (else _stext); 0: hidden from us
    std::uint64_t kernel_end = 0;            // _etext
    std::string kernel_reference = "_text";  // the symbol kernel_start belongs to
    std::vector<KernelModule> modules;
    std::vector<KernelTextRange> text_ranges;
    std::vector<std::pair<std::string, std::string>> vulnerabilities;  // /sys/devices/system/cpu/vulnerabilities
    std::string kernel_command_line;
    std::vector<std::pair<std::string, std::string>> kernel_config;  // collector/kernel_config.hpp; empty: unknown
    std::vector<std::pair<std::string, std::string>> settings;       // collector/host_settings.hpp
    std::vector<Degraded> degraded;
    // Whether the events counted whole CPUs (busy and ledgers make sense) or followed tasks; 0 in foreign files.
    enum class Scope : std::uint8_t { kUnknown, kWholeCpus, kTasks };
    Scope scope = Scope::kUnknown;
    // The bridge between the capture's clock and wall time, both read at the start.
    MonotonicTime monotonic_reference{};
    WallTime wall_reference{};
    // /proc/stat at the recording's start and at every cut.
    struct Times {
        MonotonicTime time{};
        std::vector<CpuTimes> cpus;
    };
    std::vector<Times> cpu_times;
};

// Everything of this host that can be read with our rights; what cannot is left empty. command_line, text_ranges,
// degraded, scope and cpu_times are the caller's to fill. `root` stands before /proc, /sys and /lib (tests).
[[nodiscard]] HostFacts read_host_facts(const Clock& clock, const std::string& root = "");
[[nodiscard]] std::vector<CpuTimes> read_cpu_times();  // empty when /proc/stat cannot be read
[[nodiscard]] Result<std::vector<CpuTimes>> parse_proc_stat(std::string_view text, long ticks_per_second);

// "0-3,8" as the kernel writes CPU lists.
[[nodiscard]] Result<std::vector<CpuId>> parse_cpu_list(std::string_view text);
[[nodiscard]] Result<std::vector<CpuId>> online_cpus();

}  // namespace perfvigil::collector
