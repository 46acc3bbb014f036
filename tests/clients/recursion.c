// SPDX-License-Identifier: GPL-2.0-or-later
// Spins at the bottom of DEPTH (20) nested calls of one function: chains are recurse × DEPTH under main, self time is
// all in spin_at_bottom, and a function's total must not count a sample twice.
//   recursion [DEPTH [SECONDS]]
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;
static double seconds = 3600;

static double now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

__attribute__((noinline)) void spin_at_bottom(void) {
    const double end = now() + seconds;
    while (now() < end) {
        for (int i = 0; i < 100000; ++i) sink = sink * 6364136223846793005U + 1;
    }
}

__attribute__((noinline)) void recurse(int depth) {
    if (depth > 1)
        recurse(depth - 1);
    else
        spin_at_bottom();
    sink += 1;  // work after the call keeps it from becoming a jump
}

int main(int argc, char** argv) {
    if (argc > 2) seconds = atof(argv[2]);
    recurse(argc > 1 ? atoi(argv[1]) : 20);
    return 0;
}
