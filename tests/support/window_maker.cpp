// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/window_maker.hpp"

#include <algorithm>
#include <cmath>

#include "analyzer/slice/moment_tables.hpp"
#include "base/time_text.hpp"

namespace perfvigil::test {
namespace {

using analyzer::Profile;

// Few are drawn often, most hardly ever.
std::size_t skewed(std::mt19937_64& random, std::size_t count) {
    const double u = std::uniform_real_distribution<double>(0, 1)(random);
    return std::min(count - 1, static_cast<std::size_t>(std::pow(u, 6) * static_cast<double>(count)));
}

}  // namespace

WindowMaker::WindowMaker(std::uint64_t seed, const Options& options)
    : options_(options), random_(seed), build_ids_(options.units, "aa00") {
    functions_.push_back({.name = "default_idle", .dso = "[kernel]", .kernel = true});
    for (std::size_t i = 1; i < options.functions; ++i) {
        const bool kernel = i % 7 == 0;
        functions_.push_back({.name = "function_with_a_name_" + std::to_string(i),
                              .dso = kernel ? "[kernel]" : "lib" + std::to_string(i % 23) + ".so.1",
                              .kernel = kernel});
    }
    stacks_.push_back({.functions = {0}, .flags = analyzer::kStackIdleLoop | analyzer::kStackKernelLeaf});
    for (std::size_t i = 1; i < options.stacks; ++i) {
        analyzer::ProfileStack stack;
        const std::size_t depth = 1 + random_() % 25;
        // Hot chains have hot leaves.
        stack.functions.push_back(static_cast<std::uint32_t>(1 + skewed(random_, functions_.size() - 1)));
        while (stack.functions.size() < depth) {
            stack.functions.push_back(static_cast<std::uint32_t>(1 + random_() % (functions_.size() - 1)));
        }
        stack.flags = i % 11 == 0 ? analyzer::kStackTruncated : 0;
        stacks_.push_back(std::move(stack));
    }
}

analyzer::ProfileCpu WindowMaker::cpu(std::uint32_t number, std::uint64_t samples, std::uint64_t idle,
                                      std::uint64_t lost) const {
    analyzer::ProfileCpu cpu;
    auto& sum = cpu.sum;
    sum.cpu = CpuId{number};
    sum.clock_recorded = true;
    sum.enabled = options_.window / static_cast<std::int64_t>(options_.moments);
    sum.ticks_due = static_cast<double>(sum.enabled.count()) / static_cast<double>(kPeriod.count());
    sum.samples = samples;
    sum.idle_samples = idle;
    sum.lost = lost;
    sum.lost_time = kPeriod * static_cast<std::int64_t>(lost);
    const auto busy = kPeriod * static_cast<std::int64_t>(samples - idle);
    sum.mode_time[analyzer::index_of(analyzer::Mode::kUser)] = busy;
    sum.mode_time[analyzer::index_of(analyzer::Mode::kIdle)] = kPeriod * static_cast<std::int64_t>(idle);
    cpu.ledger = clock_ledger(sum);
    cpu.busy = busy_of(sum);
    cpu.run_delay_ns = samples * 1000;
    return cpu;
}

void WindowMaker::add_moment(Profile& profile, WallTime end) {
    analyzer::ProfileMoment moment;
    moment.wall_end = end;
    moment.length = options_.window / static_cast<std::int64_t>(options_.moments);
    analyzer::EventTotals totals{.nominal_period = kPeriod};
    std::map<std::uint32_t, std::uint64_t> self;
    for (std::uint32_t number = 0; number < options_.cpus; ++number) {
        const auto due = static_cast<std::uint64_t>(moment.length / kPeriod);
        const auto lost = static_cast<std::uint64_t>(static_cast<double>(due) * options_.lost);
        std::uint64_t idle = 0;
        for (std::uint64_t i = lost; i < due; ++i) {
            if (std::uniform_real_distribution<double>(0, 1)(random_) >= options_.busy) {
                ++rows_[{0, 0, true}];
                ++idle;
                continue;
            }
            const auto stack = static_cast<std::uint32_t>(1 + skewed(random_, stacks_.size() - 1));
            ++rows_[{stack, static_cast<std::uint32_t>(1 + skewed(random_, profile.contexts.size() - 1)), false}];
            ++self[stacks_[stack].functions.front()];
        }
        totals.samples += due - lost;
        totals.lost += lost;
        moment.cpus.push_back(cpu(number, due - lost, idle, lost));
        profile.events[0].idle_samples += idle;
    }
    const auto weight = static_cast<std::uint64_t>(kPeriod.count());
    totals.weight = totals.samples * weight;
    moment.totals.push_back(totals);
    for (const auto& [function, samples] : self) moment.top.push_back({0, function, samples, samples * weight});
    analyzer::keep_top(moment.top);
    auto& event = profile.events[0];
    event.samples += totals.samples;
    event.weight += totals.weight;
    event.idle_weight = event.idle_samples * weight;
    event.lost += totals.lost;
    for (const auto& one : moment.cpus) {
        auto& sum = profile.cpus[one.sum.cpu.value];
        analyzer::accumulate(sum.sum, one.sum);
        sum.ledger += one.ledger;
        sum.run_delay_ns += one.run_delay_ns;
    }
    profile.moments.push_back(std::move(moment));
}

Profile WindowMaker::make(WallTime end) {
    Profile profile;
    profile.id = compact_time(end);
    profile.end = end;
    profile.start = end - options_.window;
    profile.duration = options_.window;
    profile.host = {.hostname = "host",
                    .os_release = "6.1.0",
                    .architecture = "x86_64",
                    .cpu_description = "a CPU",
                    .recorder = "perfvigil test",
                    .cpus_online = static_cast<std::uint32_t>(options_.cpus)};
    profile.events.push_back({.name = "cpu-clock",
                              .unit = analyzer::WeightUnit::kNanoseconds,
                              .frequency_mode = true,
                              .rate = 99,
                              .nominal_period = kPeriod});
    profile.functions = functions_;
    profile.stacks = stacks_;
    profile.contexts.push_back({.comm = "swapper", .unit = "", .container = ""});
    for (std::size_t unit = 0; unit < options_.units; ++unit) {
        const auto name = "unit-" + std::to_string(unit) + ".service";
        for (int thread = 0; thread < 3; ++thread) {
            profile.contexts.push_back({.comm = "worker-" + std::to_string(thread), .unit = name, .container = ""});
        }
        // One that no other window has.
        profile.contexts.push_back({.comm = "job-" + std::to_string(windows_), .unit = name, .container = ""});
        profile.programs.push_back({.unit = name,
                                    .container = "",
                                    .slice = "system.slice",
                                    .cgroup = "/system.slice/" + name,
                                    .path = "/usr/sbin/program-" + std::to_string(unit),
                                    .build_id = build_ids_[unit],
                                    .samples = 100 - unit});
    }
    profile.cpus.resize(options_.cpus);
    for (std::uint32_t i = 0; i < options_.cpus; ++i) profile.cpus[i].sum.cpu = CpuId{i};
    const auto length = options_.window / static_cast<std::int64_t>(options_.moments);
    for (std::size_t i = 1; i <= options_.moments; ++i) {
        add_moment(profile, profile.start + length * static_cast<std::int64_t>(i));
    }
    for (const auto& [key, samples] : rows_) {
        const auto& [stack, context, idle] = key;
        profile.samples.push_back({.event = 0,
                                   .stack = stack,
                                   .context = context,
                                   .idle = idle,
                                   .samples = samples,
                                   .weight = samples * static_cast<std::uint64_t>(kPeriod.count())});
    }
    rows_.clear();
    for (auto& cpu : profile.cpus) cpu.busy = busy_of(cpu.sum);
    ++windows_;
    return profile;
}

}  // namespace perfvigil::test
