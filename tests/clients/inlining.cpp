// SPDX-License-Identifier: GPL-2.0-or-later
// Calls that are inlined at any optimisation: three deep in a namespace, a template, a lambda, and one that recurs
// around them. Runs for the given seconds, prints what it computed.
//   inlining [seconds]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#define ALWAYS_INLINE __attribute__((always_inline)) inline

namespace mill {

ALWAYS_INLINE std::uint64_t grind(std::uint64_t x) {
    for (int i = 0; i < 64; ++i) x = (x ^ (x >> 29U)) * 0xbf58476d1ce4e5b9U;
    return x;
}

template <int Rounds>
ALWAYS_INLINE std::uint64_t turn(std::uint64_t x) {
    for (int i = 0; i < Rounds; ++i) x += grind(x);
    return x;
}

__attribute__((noinline)) std::uint64_t work(std::uint64_t x) {
    const auto twice = [](std::uint64_t y) __attribute__((always_inline)) { return turn<16>(turn<32>(y)); };
    return twice(x) + turn<8>(x);
}

}  // namespace mill

static volatile std::uint64_t last = 0;

__attribute__((noinline)) std::uint64_t descend(std::uint64_t x, int depth) {
    if (depth == 0) return mill::work(x);
    const std::uint64_t inner = descend(x, depth - 1);
    last = inner;  // so that the call returns into code of this function, not of the inlined one
    return inner + mill::grind(x);
}

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
    timespec begin{};
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    std::uint64_t x = 1;
    do {
        for (int i = 0; i < 200; ++i) x += descend(x, 5);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (static_cast<double>(now.tv_sec - begin.tv_sec) + static_cast<double>(now.tv_nsec - begin.tv_nsec) / 1e9 <
             seconds);
    std::printf("%llu\n", static_cast<unsigned long long>(x));
    return 0;
}
