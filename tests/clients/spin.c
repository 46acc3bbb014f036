// SPDX-License-Identifier: GPL-2.0-or-later
// Spins in spin_here() until SIGTERM or for SECONDS, on CPU where one is named: a load of 100 % without system calls.
//   spin [SECONDS [CPU]]
// Prints its CPU nanoseconds at the end.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static volatile uint64_t sink;

static void on_signal(int number) {
    (void)number;
    stop = 1;
}

__attribute__((noinline)) void spin_here(void) {
    while (!stop) sink = sink * 6364136223846793005U + 1;
}

int main(int argc, char** argv) {
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    if (argc > 2) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET((unsigned)atoi(argv[2]), &cpus);
        if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return 2;
    }
    if (argc > 1) alarm((unsigned)atoi(argv[1]));
    spin_here();
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    printf("%lld\n", ts.tv_sec * 1000000000LL + ts.tv_nsec);
    return 0;
}
