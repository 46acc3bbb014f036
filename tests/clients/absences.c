// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps a CPU busy and notes when it was not there for us: stretches in which a program that never sleeps executed
// nothing, because the hypervisor, an interrupt or another task had the CPU. Runs until SIGTERM or for SECONDS.
//   absences SECONDS CPU
// Prints a line for each: start and end (CLOCK_MONOTONIC, ns).
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 65536, kShortest = 200000 };

static volatile sig_atomic_t stop;
static struct {
    int64_t start, end;
} absences[kMost];

static void on_signal(int number) {
    (void)number;
    stop = 1;
}

static int64_t now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    const int cpu = atoi(argv[2]);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET((unsigned)cpu, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return 2;
    alarm((unsigned)atoi(argv[1]));
    // As rarely as the recorder bears.
    (void)setpriority(PRIO_PROCESS, 0, -10);

    int count = 0;
    int64_t last = now();
    while (!stop) {
        const int64_t time = now();
        if (time - last >= kShortest && count < kMost) {
            absences[count].start = last;
            absences[count++].end = time;
        }
        last = time;
    }
    for (int i = 0; i < count; ++i) {
        printf("%lld %lld\n", (long long)absences[i].start, (long long)absences[i].end);
    }
    return 0;
}
