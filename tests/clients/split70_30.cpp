// SPDX-License-Identifier: GPL-2.0-or-later
// Two hot functions that share one CPU about 70 to 30, in random phases of 20 to 200 microseconds: far shorter than a
// sampling period, so that no sampler can be in step with them. It measures its own split.
//   split70_30 [seconds [cpu]]
// On SIGTERM, SIGINT or after the time it prints "hot_a_ns hot_b_ns" (its thread's CPU time in each) and exits 0.
#include <sched.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

volatile sig_atomic_t stop = 0;
volatile std::uint64_t sink = 0;

std::uint64_t now_ns(clockid_t clock) {
    timespec ts{};
    clock_gettime(clock, &ts);
    return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(ts.tv_nsec);
}

struct Random {
    std::uint64_t state = 0x9e3779b97f4a7c15U;
    std::uint64_t below(std::uint64_t limit) {
        state ^= state << 13U;
        state ^= state >> 7U;
        state ^= state << 17U;
        return state % limit;
    }
};

}  // namespace

// Outside the anonymous namespace: their names are what a profile must show.
__attribute__((noinline)) void hot_a(std::uint64_t rounds) {
    std::uint64_t x = sink;
    for (std::uint64_t i = 0; i < rounds; ++i) x = x * 6364136223846793005U + 1442695040888963407U;
    sink = x;
}

__attribute__((noinline)) void hot_b(std::uint64_t rounds) {
    std::uint64_t x = sink;
    for (std::uint64_t i = 0; i < rounds; ++i) x = (x ^ (x >> 29U)) * 0xbf58476d1ce4e5b9U;
    sink = x;
}

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 3600;
    if (argc > 2) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(static_cast<unsigned>(std::atoi(argv[2])), &cpus);
        if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return 2;
    }
    struct sigaction action{};
    action.sa_handler = [](int) { stop = 1; };
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);

    // How many rounds fill a microsecond; measured again as the run goes on.
    double a_per_us = 300;
    double b_per_us = 300;
    std::uint64_t a_ns = 0;
    std::uint64_t b_ns = 0;
    Random random;
    random.state ^= now_ns(CLOCK_MONOTONIC);
    const std::uint64_t end = now_ns(CLOCK_MONOTONIC) + static_cast<std::uint64_t>(seconds * 1e9);
    for (std::uint64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID); stop == 0;) {
        // Which function comes is drawn too, 7 of 10 for hot_a; both kinds of phase have the same length on average.
        const bool a = random.below(10) < 7;
        const auto us = static_cast<double>(20 + random.below(181));
        const auto rounds = static_cast<std::uint64_t>(us * (a ? a_per_us : b_per_us));
        a ? hot_a(rounds) : hot_b(rounds);
        const std::uint64_t after = now_ns(CLOCK_THREAD_CPUTIME_ID);
        (a ? a_ns : b_ns) += after - before;
        double& per_us = a ? a_per_us : b_per_us;
        per_us += (static_cast<double>(rounds) * 1000.0 / static_cast<double>(after - before) - per_us) / 64;
        before = after;
        if (now_ns(CLOCK_MONOTONIC) >= end) break;
    }
    std::printf("%llu %llu\n", static_cast<unsigned long long>(a_ns), static_cast<unsigned long long>(b_ns));
    return 0;
}
