// SPDX-License-Identifier: GPL-2.0-or-later
// cpus_saturated, cpus_uneven, softirq_on_one_cpu, cpu_stolen, tasks_waited, busy_disagrees: how the load lay on the
// CPUs, and what the kernel's own accounting says of it.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyzer/kernel_accounts.hpp"
#include "analyzer/observations/host_state.hpp"
#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kNamed = 8;

// The lower end of the interval: chance alone must not make a CPU look full.
constexpr double kFull = 0.95;
// A CPU this busy, with the others this far below it on average, could have shared its work.
constexpr double kBusiest = 0.9;
constexpr double kApart = 0.4;
// Softirq work of one CPU: most of the host's, and enough of that CPU to bound what it can take.
constexpr double kMostSoftirq = 0.8;
constexpr double kMuchSoftirq = 0.3;
// A twentieth of the time gone is more than any ledger's error.
constexpr double kStolen = 0.05;
// Of the time in which tasks wanted a CPU.
constexpr double kWaiting = 0.2;
constexpr double kMuchWaiting = 0.5;
constexpr double kWaitingOfTime = 0.05;  // of all CPUs' time: less is of no consequence
// Beyond both errors.
constexpr double kDisagreement = 0.05;

// CPUs whose busy says something about the whole CPU. Where T was estimated from samples, the recording may have
// followed a few tasks: then only idle samples prove otherwise.
std::vector<const ProfileCpu*> known_cpus(const Profile& profile) {
    std::vector<const ProfileCpu*> cpus;
    bool idle_seen = false;
    for (const auto& cpu : profile.cpus) idle_seen |= cpu.sum.idle_samples != 0;
    for (const auto& cpu : profile.cpus) {
        if (cpu.busy.known && (!cpu.sum.time_estimated || idle_seen)) cpus.push_back(&cpu);
    }
    return cpus;
}

std::string numbers_of(std::span<const ProfileCpu* const> cpus) {
    std::vector<std::string> names;
    for (const auto* cpu : cpus.first(std::min(kNamed, cpus.size()))) {
        names.push_back(std::to_string(cpu->sum.cpu.value));
    }
    if (cpus.size() > kNamed) names.push_back(fmt::format("{} more", cpus.size() - kNamed));
    return fmt::format("{} {}", cpus.size() == 1 ? "CPU" : "CPUs", listed(names));
}

std::string name_of(const ProfileCpu& cpu) { return fmt::format("cpu {}", cpu.sum.cpu.value); }

void judge_saturation(const Profile& profile, const std::vector<const ProfileCpu*>& cpus, Observations& found) {
    std::vector<const ProfileCpu*> full;
    for (const auto* cpu : cpus) {
        if (cpu->busy.interval.low >= kFull) full.push_back(cpu);
    }
    if (full.empty()) return;
    const double part = static_cast<double>(full.size()) / static_cast<double>(cpus.size());
    const bool smt = setting(profile.host, "smt") == "on";
    Observation made{.id = "cpus_saturated",
                     .severity = part >= 0.5 ? Severity::kNotice : Severity::kInfo,
                     .at_least = part,
                     .figures = {{"saturated_cpus", "", static_cast<double>(full.size())},
                                 {"cpus", "", static_cast<double>(cpus.size())}},
                     .evidence = fmt::format("{} ({} of {}) had at least {} busy, with 95 % confidence.",
                                             numbers_of(full), full.size(), cpus.size(), percent(kFull)),
                     .meaning =
                         "Next to no time was left on these CPUs: whatever else became runnable there had to wait. "
                         "How long it waited, samples of running code do not show.",
                     .remedy =
                         "See how long tasks wait (/proc/pressure/cpu, perf sched latency) before making the "
                         "code faster or adding CPUs."};
    if (smt) made.meaning += " SMT is on: two CPUs share a core, so a full CPU did not have a whole core.";
    for (const auto* cpu : std::span(full).first(std::min(kNamed, full.size()))) {
        made.figures.push_back({"busy", name_of(*cpu), cpu->busy.ratio});
    }
    found.push_back(std::move(made));
}

void judge_imbalance(const std::vector<const ProfileCpu*>& cpus, Observations& found) {
    if (cpus.size() < 2) return;
    const auto* busiest = *std::ranges::max_element(cpus, {}, [](const auto* cpu) { return cpu->busy.interval.low; });
    double others = 0;
    for (const auto* cpu : cpus) others += cpu == busiest ? 0 : cpu->busy.interval.high;
    others /= static_cast<double>(cpus.size() - 1);
    const double low = busiest->busy.interval.low;
    if (low < kBusiest || others > low - kApart) return;
    const auto& modes = busiest->sum.mode_time;
    const auto time = static_cast<double>(busiest->sum.enabled.count());
    const auto share = [&](Mode mode) { return static_cast<double>(modes[index_of(mode)].count()) / time; };
    found.push_back(
        {.id = "cpus_uneven",
         .severity = Severity::kNotice,
         .at_least = low - others,
         .figures = {{"busy", name_of(*busiest), busiest->busy.ratio},
                     {"busy_low", name_of(*busiest), low},
                     {"others_busy_high", "", others},
                     {"user", name_of(*busiest), share(Mode::kUser)},
                     {"kernel", name_of(*busiest), share(Mode::kKernel)},
                     {"softirq", name_of(*busiest), share(Mode::kSoftirq)}},
         .evidence = fmt::format(
             "CPU {} was {} busy ({} user, {} kernel, {} softirq) while the other {} had at most {} "
             "on average.",
             busiest->sum.cpu.value, percent(busiest->busy.ratio), percent(share(Mode::kUser)),
             percent(share(Mode::kKernel)), percent(share(Mode::kSoftirq)), cpus.size() - 1, percent(others)),
         .meaning = "The load did not use the CPUs there are. One thread that does all the work, tasks pinned to a CPU "
                    "and interrupts routed to one all look like this; the profile does not say which it was.",
         .remedy = "Look at this CPU alone (perfvigil report --cpu), and at affinities: taskset -p, "
                   "/proc/interrupts, cpuset and isolcpus."});
}

void judge_softirq(const std::vector<const ProfileCpu*>& cpus, Observations& found) {
    if (cpus.size() < 2) return;
    const auto softirq = [](const ProfileCpu* cpu) {
        return static_cast<double>(cpu->sum.mode_time[index_of(Mode::kSoftirq)].count());
    };
    const auto* most = *std::ranges::max_element(cpus, {}, softirq);
    double all = 0;
    for (const auto* cpu : cpus) all += softirq(cpu);
    const double of_cpu = softirq(most) / static_cast<double>(most->sum.enabled.count());
    const Interval interval = wilson(of_cpu * most->sum.ticks_due, most->sum.ticks_due, kZ95);
    if (all <= 0 || softirq(most) < kMostSoftirq * all || !(interval.low >= kMuchSoftirq)) return;
    found.push_back(
        {.id = "softirq_on_one_cpu",
         .severity = Severity::kNotice,
         .at_least = interval.low,
         .figures = {{"softirq", name_of(*most), of_cpu}, {"of_all_softirq", "", softirq(most) / all}},
         .evidence = fmt::format("CPU {} spent {} of its time in softirqs: {} of what all {} CPUs spent.",
                                 most->sum.cpu.value, percent(of_cpu), percent(softirq(most) / all), cpus.size()),
         .meaning = "Interrupt work that could be spread is bounded by one CPU, and tasks on it are slowed.",
         .remedy = "See /proc/softirqs and /proc/interrupts; network: more queues (ethtool -L), RPS, or "
                   "another irq affinity."});
}

void judge_steal(const Profile& profile, Observations& found) {
    double total = 0;
    double stolen = 0;
    for (const auto& cpu : profile.cpus) {
        total += static_cast<double>(cpu.ledger.total);
        stolen += static_cast<double>(cpu.ledger.stolen);
    }
    const double share = total > 0 ? stolen / total : 0;
    if (share < kStolen) return;
    found.push_back({.id = "cpu_stolen",
                     .severity = Severity::kNotice,
                     .at_least = share,
                     .figures = {{"stolen_share", "", share}, {"stolen_seconds", "", stolen / 1e9}},
                     .evidence = fmt::format("/proc/stat counts {:.3f} s as stolen: {} of the CPUs' time.",
                                             stolen / 1e9, percent(share)),
                     .meaning = "The hypervisor ran something else on this virtual machine's CPUs. Nothing inside the "
                                "machine shows what; work took longer than its CPU time says.",
                     .remedy = "Compare with a time of less steal, or give the machine CPUs of its own."});
}

// Not enough CPU: invisible in samples of what ran.
void judge_waiting(const Profile& profile, std::size_t cpus, Observations& found) {
    const Waiting sum = waiting_of(profile.cpus);
    const double share = sum.share();
    // Ever so few tasks may wait for each other on an idle host.
    if (share < kWaiting || sum.waited < kWaitingOfTime * sum.time) return;
    found.push_back({.id = "tasks_waited",
                     .severity = share >= kMuchWaiting ? Severity::kWarning : Severity::kNotice,
                     .at_least = share,
                     .figures = {{"waiting_share", "", share},
                                 {"waited_seconds", "", sum.waited / 1e9},
                                 {"waiting_tasks", "", sum.waited / (sum.time / static_cast<double>(cpus))}},
                     .evidence = fmt::format("Runnable tasks waited {:.3f} s for a CPU: {} of the time in which they "
                                             "wanted one (/proc/schedstat).",
                                             sum.waited / 1e9, percent(share)),
                     .meaning =
                         "There was not enough CPU, or tasks were kept to some of the CPUs. What took long here need "
                         "not show among the hot functions: it waited.",
                     .remedy = "Look at the load of each CPU, at CPU limits and affinities, and at what ran meanwhile; "
                               "perf sched latency names the tasks that waited."});
}

void judge_disagreement(const std::vector<const ProfileCpu*>& cpus, Observations& found) {
    const ProfileCpu* furthest = nullptr;
    double by = 0;
    for (const auto* cpu : cpus) {
        const double now = busy_disagreement(cpu->sum).value_or(0);
        if (std::abs(now) <= std::abs(by)) continue;
        by = now;
        furthest = cpu;
    }
    if (furthest == nullptr || std::abs(by) < kDisagreement) return;
    const double stat = busy_by_proc_stat(furthest->sum).value_or(0);
    found.push_back({.id = "busy_disagrees",
                     .severity = Severity::kNotice,
                     .at_least = std::abs(by),
                     .figures = {{"busy", name_of(*furthest), furthest->busy.ratio},
                                 {"busy_by_proc_stat", name_of(*furthest), stat},
                                 {"outside", name_of(*furthest), by}},
                     .evidence = fmt::format("CPU {} was {} busy by samples ({} to {}) and {} by /proc/stat.",
                                             furthest->sum.cpu.value, percent(furthest->busy.ratio),
                                             percent(furthest->busy.interval.low),
                                             percent(furthest->busy.interval.high), percent(stat)),
                     .meaning = "One of the two is wrong. Kernels that account by ticks miss what runs between ticks; "
                                "samples miss what runs with timers off, and where a hypervisor takes the CPU away.",
                     .remedy =
                         "Compare with the coverage and the ledger of that CPU, and with a load whose CPU time is "
                         "known."});
}

}  // namespace

void judge_cpus(const Tally& tally, Observations& found) {
    const auto cpus = known_cpus(tally.profile());
    if (!cpus.empty()) judge_saturation(tally.profile(), cpus, found);
    judge_imbalance(cpus, found);
    judge_softirq(cpus, found);
    judge_steal(tally.profile(), found);
    if (!cpus.empty()) judge_waiting(tally.profile(), cpus.size(), found);
    judge_disagreement(cpus, found);
}

}  // namespace perfvigil::analyzer
