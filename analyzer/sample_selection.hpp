// SPDX-License-Identifier: GPL-2.0-or-later
// Which samples of a capture are wanted, by what only a sample knows: its time, CPU, process and thread; and which of
// those a profile is to tell apart. What a profile still knows (events, names) is selected from profiles. Values and
// their text, no judging (SampleFilter).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/sampled_codes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"

namespace perfvigil::analyzer {

// [from, to) counted from the capture's first sample. In percent of the time between its first and its last sample;
// up to 100 % (or without an end) the last one is in.
struct TimeRange {
    enum class Unit : std::uint8_t { kSeconds, kPercent };
    Unit unit = Unit::kSeconds;
    double from = 0;
    std::optional<double> to{};  // absent: to the end

    friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// "10s..20s", "500ms..1.5s", "2m..", "..20s", "5%..50%"; a number without a unit is seconds.
[[nodiscard]] Result<TimeRange> parse_time_range(std::string_view text);
[[nodiscard]] std::string to_text(const TimeRange& range);

// Tasks by their control group: those of one cgroup and below, or those of a unit, wherever its cgroup lies.
struct CgroupSelection {
    std::string path{};  // "/system.slice/nginx.service"
    std::string unit{};  // "nginx.service"

    [[nodiscard]] bool takes(std::string_view cgroup) const;

    friend bool operator==(const CgroupSelection&, const CgroupSelection&) = default;
};

struct SampleSelection {
    std::optional<TimeRange> time{};
    // Any of the listed; empty: all.
    std::vector<CpuId> cpus{};
    std::vector<Pid> pids{};
    std::vector<Tid> tids{};
    std::optional<CgroupSelection> cgroup{};
    // Whether samples of several processes, threads or CPUs stay apart: fills ProfileContext::pid, tid, cpu.
    bool by_pid = false;
    bool by_tid = false;
    bool by_cpu = false;
    bool by_line = false;  // of the source, of the sampled instruction: ProfileContext::source_line
    // Whether stacks show the calls that were inlined, and each function's source line: ProfileFunction.
    bool inlined = false;
    bool lines = false;
    // The same in kernel modules. Apart, because calls that the compiler inlined in a module read like stacks of the
    // kernel's that never were: seldom what one looks for.
    bool module_inlined = false;
    bool module_lines = false;

    [[nodiscard]] bool selects() const { return time || !cpus.empty() || !pids.empty() || !tids.empty() || cgroup; }
    [[nodiscard]] bool tells_apart() const { return by_pid || by_tid || by_cpu || by_line || apart(); }
    // Functions stay apart by address while the profile grows.
    [[nodiscard]] bool apart() const { return inlined || lines; }
    [[nodiscard]] DebugScope debug_scope() const {
        return module_inlined || module_lines ? DebugScope::kEverything : DebugScope::kNotModules;
    }
    // As on the command line, for Profile::filter: "--time 10s..20s --cpu 0,1 --pid 7"; empty where nothing is
    // selected.
    [[nodiscard]] std::string text() const;

    friend bool operator==(const SampleSelection&, const SampleSelection&) = default;
};

}  // namespace perfvigil::analyzer
