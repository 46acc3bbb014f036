// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/doctor/gather.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "analyzer/doctor/folder.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/host_facts.hpp"
#include "collector/kernel_config.hpp"
#include "collector/negotiation.hpp"
#include "collector/tickless.hpp"

namespace perfvigil::analyzer::doctor {
namespace {

namespace fs = std::filesystem;

std::string line_of(const std::string& path) {
    const auto text = read_file(path, 1U << 20U);
    return text ? std::string(trim(*text)) : std::string();
}

std::optional<std::int64_t> number_of(const std::string& path) { return parse_number<std::int64_t>(line_of(path)); }

// "Name:<blanks>value" of a text of such lines.
std::string_view value_of(std::string_view text, std::string_view name) {
    while (!text.empty()) {
        std::string_view line = next_piece(text, '\n');
        if (next_piece(line, ':') == name) return trim(line);
    }
    return {};
}

// "Max locked memory         8388608              8388608              bytes": soft, or hard.
std::optional<std::uint64_t> limit_of(std::string_view limits, std::string_view name, std::size_t column) {
    while (!limits.empty()) {
        std::string_view line = next_piece(limits, '\n');
        if (!line.starts_with(name)) continue;
        line.remove_prefix(name.size());
        for (std::size_t i = 0;; ++i) {
            line = trim(line);
            if (line.empty()) return std::nullopt;
            const auto word = line.substr(0, std::min(line.find(' '), line.size()));
            if (i == column) return parse_number<std::uint64_t>(word);  // absent: "unlimited"
            line.remove_prefix(word.size());
        }
    }
    return std::nullopt;
}

ProcessFacts gather_process(const GatherOptions& options) {
    ProcessFacts process{.name = options.process_name, .is_daemon = options.is_daemon};
    const std::string folder = options.root + "/proc/" + options.process + "/";
    const auto status = read_file(folder + "status", 1U << 16U).value_or("");
    process.capabilities = parse_number<std::uint64_t>(value_of(status, "CapEff"), 16).value_or(0);
    process.seccomp = static_cast<int>(parse_number<std::int64_t>(value_of(status, "Seccomp")).value_or(0));
    const auto limits = read_file(folder + "limits", 1U << 16U).value_or("");
    constexpr std::size_t kSoft = 0;
    constexpr std::size_t kHard = 1;
    process.locked_max = limit_of(limits, "Max locked memory", kSoft);
    process.files_max = limit_of(limits, "Max open files", kHard);
    // Who has no file left cannot read that either.
    rlimit own{};
    if (limits.empty() && options.process == "self" && ::getrlimit(RLIMIT_NOFILE, &own) == 0 &&
        own.rlim_max != RLIM_INFINITY) {
        process.files_max = own.rlim_max;
    }
    // Of the first namespace: 0 0 4294967295.
    const std::string map = line_of(folder + "uid_map");
    const auto last = map.rfind(' ');
    process.initial_user_namespace =
        map.empty() || (map.starts_with('0') && map.substr(last + 1) == "4294967295" && !map.contains('\n'));
    // include/linux/proc_ns.h: PROC_PID_INIT_INO. Where it cannot be read it is another's, and its own to say.
    std::error_code error;
    const auto pids = fs::read_symlink(folder + "ns/pid", error).string();
    process.initial_pid_namespace = error || pids == "pid:[4026531836]";
    return process;
}

Facts::Symbols gather_kallsyms(const std::string& path) {
    const auto fd = open_file(path, O_RDONLY);
    if (!fd) return Facts::Symbols::kNone;
    char block[4096];
    const auto n = ::read(fd->get(), block, sizeof block);
    if (n <= 0) return Facts::Symbols::kNone;
    std::string_view text(block, static_cast<std::size_t>(n));
    while (!text.empty()) {
        std::string_view line = next_piece(text, '\n');
        const auto address = next_piece(line, ' ');
        if (address.find_first_not_of('0') != std::string_view::npos) return Facts::Symbols::kShown;
    }
    return Facts::Symbols::kZero;
}

std::vector<CpuPmu> gather_pmus(const std::string& folder) {
    std::vector<CpuPmu> pmus;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename();
        std::error_code none;
        // Core PMUs: "cpu", or those that say which CPUs are theirs. Others (uncore) say "cpumask".
        const bool has_cpus = fs::exists(at->path() / "cpus", none);
        if (name == "cpu" || has_cpus) pmus.push_back({name, line_of(at->path() / "cpus")});
    }
    std::ranges::sort(pmus, {}, &CpuPmu::name);
    return pmus;
}

std::optional<bool> clock_synchronized() {
    timex state{};
    if (::adjtimex(&state) < 0) return std::nullopt;
    return (state.status & STA_UNSYNC) == 0;
}

}  // namespace

Facts gather(const GatherOptions& options, const collector::RecordingOptions& recording) {
    Facts facts;
    const std::string& root = options.root;
    utsname name{};
    if (::uname(&name) == 0) {
        facts.release = name.release;
        facts.architecture = name.machine;
    }
    const auto online = collector::parse_cpu_list(line_of(root + "/sys/devices/system/cpu/online"));
    facts.sys_readable = online && !online->empty();
    facts.cpus_online = facts.sys_readable ? static_cast<std::uint32_t>(online->size()) : 1;
    facts.frequency = recording.tuning.frequency;
    facts.events = recording.events.size();
    facts.hardware_events = static_cast<std::size_t>(std::ranges::count_if(
        recording.events, [](const auto& event) { return event.type != collector::kTypeSoftware; }));
    facts.ring_bytes =
        collector::ring_bytes(recording.tuning, facts.cpus_online, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
    facts.process = gather_process(options);
    const std::string kernel = root + "/proc/sys/kernel/";
    facts.paranoid = number_of(kernel + "perf_event_paranoid");
    facts.kptr_restrict = number_of(kernel + "kptr_restrict");
    facts.mlock_kib = number_of(kernel + "perf_event_mlock_kb");
    facts.max_sample_rate = number_of(kernel + "perf_event_max_sample_rate");
    facts.nmi_watchdog = number_of(kernel + "nmi_watchdog");
    facts.proc_sys_readable = facts.paranoid.has_value();
    facts.kallsyms = gather_kallsyms(root + "/proc/kallsyms");
    std::error_code error;
    // Without loadable modules there is nothing to miss.
    facts.modules_readable =
        fs::exists(root + "/lib/modules/" + facts.release, error) || line_of(root + "/proc/modules").empty();
    facts.pmus = gather_pmus(root + "/sys/bus/event_source/devices");
    facts.kernel_config = collector::read_kernel_config(root, facts.release);
    facts.nohz_full = collector::tickless_cpus(root);
    facts.isolated = line_of(root + "/sys/devices/system/cpu/isolated");
    facts.idle_driver = line_of(root + "/sys/devices/system/cpu/cpuidle/current_driver");
    facts.clock_source = line_of(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    facts.clock_synchronized = clock_synchronized();
    for (const auto& wanted : options.folders) facts.folders.push_back(gather_folder(wanted));
    facts.not_sampled = "not sampled";
    return facts;
}

void gather_trials(Facts& facts, collector::EventKernel& kernel, const collector::RecordingOptions& recording,
                   const Clock& clock) {
    facts.probes = collector::probe_events(kernel, recording, clock);
    const bool clock_opens = std::ranges::any_of(
        facts.probes, [](const auto& probe) { return probe.event == "cpu-clock" && probe.opens_somewhere(); });
    if (clock_opens) facts.sample_cost = collector::calibrate_sample_cost(clock);
}

}  // namespace perfvigil::analyzer::doctor
