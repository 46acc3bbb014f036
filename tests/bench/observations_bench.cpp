// SPDX-License-Identifier: GPL-2.0-or-later
// What observing costs on a large profile: 100 000 stacks of 25 functions out of 20 000.
#include <random>

#include <benchmark/benchmark.h>

#include "analyzer/observations.hpp"

namespace perfvigil::analyzer {
namespace {

Profile large_profile(std::size_t stacks) {
    constexpr std::size_t kFunctions = 20'000;
    constexpr std::size_t kDepth = 25;
    constexpr std::uint64_t kTick = 10'101'010;
    std::mt19937_64 random(7);
    Profile profile;
    const char* const known[] = {"native_queued_spin_lock_slowpath", "clear_page_erms", "srso_alias_safe_ret",
                                 "_raw_spin_unlock_irqrestore",      "do_futex",        "handle_mm_fault"};
    for (std::size_t i = 0; i < kFunctions; ++i) {
        const bool kernel = i % 3 == 0;
        std::string name =
            i % 500 == 0 ? known[(i / 500) % std::size(known)] : "function_of_some_length_" + std::to_string(i);
        profile.functions.push_back(
            {std::move(name), kernel ? "[kernel.kallsyms]" : "/usr/lib/libsome.so.1", kernel, UnknownReason::kNone});
    }
    for (int i = 0; i < 200; ++i)
        profile.contexts.push_back({.comm = "task" + std::to_string(i), .unit = {}, .container = {}});
    auto& event = profile.events.emplace_back();
    event = {.name = "cpu-clock", .unit = WeightUnit::kNanoseconds, .frequency_mode = true, .rate = 99};
    for (std::size_t i = 0; i < stacks; ++i) {
        ProfileStack stack;
        for (std::size_t depth = 0; depth < kDepth; ++depth) {
            stack.functions.push_back(static_cast<std::uint32_t>(random() % kFunctions));
        }
        profile.stacks.push_back(std::move(stack));
        profile.samples.push_back({.event = 0,
                                   .stack = static_cast<std::uint32_t>(i),
                                   .context = static_cast<std::uint32_t>(random() % 200),
                                   .samples = 1,
                                   .weight = kTick});
    }
    event.samples = stacks;
    event.weight = stacks * kTick;
    return profile;
}

void observing(benchmark::State& state) {
    const auto profile = large_profile(static_cast<std::size_t>(state.range(0)));
    std::size_t found = 0;
    for (auto _ : state) found += observe(profile).size();
    state.counters["observations"] = benchmark::Counter(static_cast<double>(found), benchmark::Counter::kAvgIterations);
}
BENCHMARK(observing)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace perfvigil::analyzer

BENCHMARK_MAIN();
