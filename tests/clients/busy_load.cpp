// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps one CPU busy for a given share of the time, in bursts and sleeps of random length (so that no sampling timer
// is in step with it).
//   busy_load CPU PERCENT SECONDS
// On SIGTERM or after the time it prints "cpu_ns wall_ns" of its busy stretch: its own CLOCK_PROCESS_CPUTIME_ID.
#include <sched.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

volatile sig_atomic_t stop = 0;
volatile std::uint64_t sink = 0;

std::int64_t now_ns(clockid_t clock) {
    timespec ts{};
    clock_gettime(clock, &ts);
    return ts.tv_sec * 1'000'000'000LL + ts.tv_nsec;
}

}  // namespace

__attribute__((noinline)) void burn(std::int64_t cpu_ns) {
    const std::int64_t end = now_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns;
    while (stop == 0 && now_ns(CLOCK_PROCESS_CPUTIME_ID) < end) {
        for (int i = 0; i < 2000; ++i) sink = sink * 6364136223846793005U + 1;
    }
}

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: busy_load CPU PERCENT SECONDS\n");
        return 2;
    }
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<unsigned>(std::atoi(argv[1])), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return 2;
    const double share = std::atof(argv[2]) / 100;
    const auto length = static_cast<std::int64_t>(std::atof(argv[3]) * 1e9);
    struct sigaction action{};
    action.sa_handler = [](int) { stop = 1; };
    sigaction(SIGTERM, &action, nullptr);

    srand48(now_ns(CLOCK_MONOTONIC));
    const std::int64_t start = now_ns(CLOCK_MONOTONIC);
    const std::int64_t cpu_start = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    while (stop == 0 && now_ns(CLOCK_MONOTONIC) - start < length) {
        // Behind the target: burn a random 1 to 8 ms; ahead of it: sleep as long.
        const double wall = static_cast<double>(now_ns(CLOCK_MONOTONIC) - start);
        const double used = static_cast<double>(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_start);
        const auto piece = static_cast<std::int64_t>((1 + 7 * drand48()) * 1e6);
        if (used < share * wall || share >= 1) {
            burn(piece);
        } else {
            timespec pause{0, piece};
            nanosleep(&pause, nullptr);
        }
    }
    std::printf("%lld %lld\n", static_cast<long long>(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_start),
                static_cast<long long>(now_ns(CLOCK_MONOTONIC) - start));
    return 0;
}
