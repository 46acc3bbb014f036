// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "analyzer/doctor/checks.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer::doctor {
namespace {

using collector::EventProbe;

// Of what a trial should have counted or sampled.
constexpr double kTrialTolerance = 0.5;

// Of that kind, whatever it is called ("cpu-cycles", "cycles:P").
const EventProbe* probe_of(const Facts& facts, std::uint32_t type, std::uint64_t config) {
    const auto found = std::ranges::find_if(facts.probes, [&](const EventProbe& probe) {
        const auto event = collector::parse_event(probe.event);
        return event && event->type == type && event->config == config;
    });
    return found == facts.probes.end() ? nullptr : &*found;
}
const EventProbe* cycles_of(const Facts& facts) {
    return probe_of(facts, collector::kTypeHardware, collector::kHwCpuCycles);
}
const EventProbe* clock_of(const Facts& facts) {
    return probe_of(facts, collector::kTypeSoftware, collector::kSwCpuClock);
}

Finding untried(const Facts& facts, std::string check, std::string_view event) {
    return {.check = std::move(check),
            .verdict = Verdict::kUnknown,
            .evidence = facts.probes.empty() ? "not tried" : fmt::format("{} is not among recording.events", event)};
}

std::string errno_name(int error) { return ::strerrordesc_np(error) != nullptr ? ::strerrordesc_np(error) : "?"; }

// By rights, or by a filter of system calls: nothing was learnt of the event.
bool is_forbidden(const EventProbe& probe) {
    const auto by_rights = [](const EventProbe::Refusal& one) {
        return one.error_number == EACCES || one.error_number == EPERM;
    };
    return !probe.opens_somewhere() && std::ranges::any_of(probe.refusals, by_rights);
}

std::string cpus_text(const std::vector<EventProbe::Refusal>& refusals) {
    std::vector<std::uint32_t> cpus;
    for (const auto& one : refusals) cpus.push_back(one.cpu.value);
    constexpr std::size_t kShown = 8;
    const bool more = cpus.size() > kShown;
    if (more) cpus.resize(kShown);
    return fmt::format("{}{}", fmt::join(cpus, ","), more ? ",…" : "");
}

// "6.17.3-arch1" → (6, 17, 3)
std::tuple<unsigned, unsigned, unsigned> version_of(std::string_view release) {
    const auto number = [&] {
        const auto end = std::min(release.find_first_not_of("0123456789"), release.size());
        const auto value = parse_number<unsigned>(release.substr(0, end)).value_or(0);
        release.remove_prefix(std::min(end + 1, release.size()));
        return value;
    };
    const unsigned major = number();
    const unsigned minor = number();
    return {major, minor, number()};
}

bool clock_stands_still(const Facts& facts) {
    const EventProbe* clock = clock_of(facts);
    return clock != nullptr && clock->trial && clock->trial->samples + clock->trial->lost == 0;
}

}  // namespace

bool opens_clock(const Facts& facts) {
    const EventProbe* clock = clock_of(facts);
    return clock != nullptr && clock->opens_somewhere();
}

Finding check_clock_event(const Facts& facts) {
    const EventProbe* clock = clock_of(facts);
    if (clock == nullptr) return untried(facts, "clock_event", "cpu-clock");
    Finding made{.check = "clock_event"};
    if (facts.daemon && is_forbidden(*clock)) {
        made.verdict = Verdict::kUnknown;
        made.evidence = fmt::format("cpu-clock is not for this user to try ({}); perfvigild records it",
                                    errno_name(clock->refusals.front().error_number));
        return made;
    }
    if (!clock->refusals.empty()) {
        const bool none = !clock->opens_somewhere();
        made.verdict = none ? Verdict::kBroken : Verdict::kDegraded;
        made.evidence = fmt::format("cpu-clock cannot be opened on {} ({})",
                                    none ? "any CPU" : "CPUs " + cpus_text(clock->refusals),
                                    errno_name(clock->refusals.front().error_number));
        made.remedy = clock->refusals.front().error_number == EPERM
                          ? "a system call filter or security module forbids perf_event_open: allow it"
                          : "see paranoid and capabilities";
        made.reason = "no_perf_events";
        return made;
    }
    if (!clock->trial) {
        made.verdict = Verdict::kUnknown;
        made.evidence = "cpu-clock opens on every CPU, but could not be tried";
        return made;
    }
    const auto& trial = *clock->trial;
    const double due = to_seconds(trial.worked) * trial.hertz;
    const auto seen = static_cast<double>(trial.samples + trial.lost);
    made.evidence =
        fmt::format("cpu-clock opens on every CPU and gave {:.0f} of {:.0f} samples in a trial of {:.0f} ms", seen, due,
                    1e3 * to_seconds(trial.worked));
    if (seen >= kTrialTolerance * due) return made;
    made.verdict = seen == 0 ? Verdict::kBroken : Verdict::kDegraded;
    made.remedy = seen == 0 ? "this kernel's cpu-clock does not tick; use another kernel (see kernel_version)"
                            : "timers come late: a hypervisor may hold this machine back, look at stolen time";
    made.reason = "clock_event_silent";
    return made;
}

Finding check_pmu(const Facts& facts) {
    const EventProbe* cycles = cycles_of(facts);
    if (cycles == nullptr) return untried(facts, "pmu", "cycles");
    Finding made{.check = "pmu"};
    if (is_forbidden(*cycles)) {
        made.verdict = Verdict::kUnknown;
        made.evidence = fmt::format("cycles: {}: whether there is a cycle counter is not for this user to find out",
                                    errno_name(cycles->refusals.front().error_number));
        if (facts.daemon)
            made.evidence += facts.daemon_lacks("no_pmu") ? "; perfvigild has none" : "; perfvigild has it";
        return made;
    }
    if (!cycles->opens_somewhere()) {
        made.verdict = Verdict::kDegraded;
        made.evidence = fmt::format(
            "cycles: {}: no cycle counter is offered to us; frequencies and code that runs with "
            "interrupts off are not available",
            errno_name(cycles->refusals.empty() ? ENOENT : cycles->refusals.front().error_number));
        made.remedy = "in a virtual machine: let the hypervisor expose a PMU (QEMU/KVM: -cpu host,pmu=on)";
        made.reason = "no_pmu";
        return made;
    }
    if (!cycles->refusals.empty()) {
        made.verdict = Verdict::kDegraded;
        made.evidence = fmt::format("cycles cannot be opened on CPUs {} ({})", cpus_text(cycles->refusals),
                                    errno_name(cycles->refusals.front().error_number));
        made.remedy = "another program may hold the counter there, or these CPUs do not have it";
        made.reason = "event_missing";
        return made;
    }
    if (!cycles->trial) {
        made.evidence = "cycles opens on every CPU; it could not be tried";
        made.verdict = Verdict::kUnknown;
        return made;
    }
    const double hertz = static_cast<double>(cycles->trial->counted) / to_seconds(cycles->trial->worked);
    // No processor that runs Linux is as slow as that, however little of it a hypervisor gave us.
    constexpr double kSlowest = 1e7;
    if (hertz < kSlowest || cycles->trial->samples + cycles->trial->lost == 0) {
        made.verdict = Verdict::kDegraded;
        made.evidence =
            fmt::format("cycles opens on every CPU, but a trial of {:.0f} ms counted {} and gave {} samples",
                        1e3 * to_seconds(cycles->trial->worked), cycles->trial->counted, cycles->trial->samples);
        made.remedy = "leave cycles out (recording.events: [cpu-clock]), or repair the hypervisor's PMU";
        made.reason = "event_silent";
        return made;
    }
    made.evidence = fmt::format("cycles opens on every CPU and counted {:.2f} GHz in a trial", hertz / 1e9);
    return made;
}

Finding check_hybrid(const Facts& facts) {
    Finding made{.check = "hybrid"};
    std::string list;
    for (const auto& pmu : facts.pmus) {
        list += fmt::format("{}{} (CPUs {})", list.empty() ? "" : ", ", pmu.name, pmu.cpus.empty() ? "all" : pmu.cpus);
    }
    if (!facts.sys_readable) {
        made.verdict = Verdict::kUnknown;
        made.evidence = "/sys cannot be read";
    } else if (facts.pmus.empty()) {
        made.evidence = "no core PMU is known to the kernel";
    } else if (facts.pmus.size() == 1) {
        made.evidence = "one kind of core: " + list;
    } else {
        made.evidence = fmt::format(
            "{} kinds of cores: {}; each event is opened per CPU on the PMU of its kind, and "
            "cycles of different kinds are not the same work",
            facts.pmus.size(), list);
    }
    return made;
}

Finding check_nmi_watchdog(const Facts& facts) {
    Finding made{.check = "nmi_watchdog"};
    const EventProbe* cycles = cycles_of(facts);
    const bool pmu = cycles != nullptr && cycles->opens_somewhere();
    if (!facts.nmi_watchdog && !facts.proc_sys_readable) {
        made.verdict = Verdict::kUnknown;
        made.evidence = "kernel.nmi_watchdog cannot be read";
    } else if (facts.nmi_watchdog.value_or(0) == 0) {
        made.evidence = "off: no counter is taken by it";
    } else if (!pmu) {
        made.evidence = "on, without a counter of ours that it could take";
    } else {
        made.evidence =
            "on: it holds one hardware counter of each CPU; where others run short, ours is scaled, and the "
            "report says so";
    }
    return made;
}

// Known faults of cpu-clock: 6.16 and 6.17 count 0 in counting mode, and can hang when an event disables itself (we
// never ask for that). The trial decides.
Finding check_kernel_version(const Facts& facts) {
    Finding made{.check = "kernel_version"};
    const auto [major, minor, patch] = version_of(facts.release);
    made.evidence = "Linux " + facts.release;
    if (std::tuple(major, minor) < std::tuple(4U, 1U)) {
        made.verdict = Verdict::kBroken;
        made.evidence += ": Linux 4.1 is the oldest that can be recorded";
        made.remedy = "use a newer kernel";
        made.reason = "old_kernel";
    } else if (major == 6 && (minor == 16 || minor == 17)) {
        made.evidence += " is of a line whose cpu-clock had faults (it may count nothing); ";
        if (clock_stands_still(facts)) {
            made.verdict = Verdict::kBroken;
            made.evidence += "here the trial got no samples";
            made.remedy = "update it: the fault was repaired in November 2025";
            made.reason = "clock_event_silent";
        } else {
            made.evidence += clock_of(facts) != nullptr ? "here the trial got its samples" : "not tried";
        }
    } else if (std::tuple(major, minor) < std::tuple(6U, 0U)) {
        made.verdict = Verdict::kDegraded;
        made.evidence += ": before 6.0 lost samples are known per ring only, not per event";
        made.remedy = "Linux 6.0 or newer counts them";
        made.reason = "no_lost_counts";
    }
    return made;
}

Finding check_sample_rate(const Facts& facts) {
    Finding made{.check = "sample_rate"};
    if (!facts.max_sample_rate) {
        made.verdict = Verdict::kUnknown;
        made.evidence = "kernel.perf_event_max_sample_rate cannot be read";
        return made;
    }
    made.evidence = fmt::format("{} Hz are asked for, kernel.perf_event_max_sample_rate is {}", facts.frequency,
                                *facts.max_sample_rate);
    if (*facts.max_sample_rate >= static_cast<std::int64_t>(facts.frequency)) return made;
    made.verdict = Verdict::kDegraded;
    made.evidence += "; the kernel lowers it when interrupts take too long";
    made.remedy = fmt::format("sysctl kernel.perf_event_max_sample_rate={} (perfvigil doctor --fix sysctl)",
                              std::max(facts.frequency, 1000U));
    made.reason = "rate_limited";
    return made;
}

Finding check_sample_cost(const Facts& facts) {
    Finding made{.check = "sample_cost"};
    if (!facts.sample_cost) {
        return {.check = "sample_cost", .verdict = Verdict::kUnknown, .evidence = "not measured"};
    }
    const double micros = 1e6 * to_seconds(facts.sample_cost->value);
    const double share = to_seconds(facts.sample_cost->value) * facts.frequency * static_cast<double>(facts.events);
    made.evidence = fmt::format(
        "one sample takes {:.1f} µs of the kernel{}: {} events at {} Hz cost at most {:.2f} % of "
        "a busy CPU",
        micros, facts.sample_cost->assumed ? " (assumed: " + facts.sample_cost->why + ")" : "", facts.events,
        facts.frequency, 100 * share);
    constexpr double kMuch = 0.01;
    if (share <= kMuch) return made;
    made.verdict = Verdict::kDegraded;
    made.remedy = "lower recording.frequency or recording.max_stack";
    made.reason = "costly_samples";
    return made;
}

}  // namespace perfvigil::analyzer::doctor
