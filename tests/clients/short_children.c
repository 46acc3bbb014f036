// SPDX-License-Identifier: GPL-2.0-or-later
// Runs COUNT programs one after the other, each of which spins for MICROSECONDS (2000) of its own CPU time in
// short_life() and ends: what a build or a shell script looks like to a profiler.
//   short_children COUNT [MICROSECONDS]
// Prints "count cpu_ns" of its children when done.
#define _GNU_SOURCE
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;
static volatile uint64_t sink;

static int64_t cpu_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

__attribute__((noinline)) void short_life(int64_t ns) {
    const int64_t end = cpu_ns() + ns;
    while (cpu_ns() < end) {
        for (int i = 0; i < 1000; ++i) sink = sink * 6364136223846793005U + 1;
    }
}

int main(int argc, char** argv) {
    if (argc == 3 && strcmp(argv[1], "--live") == 0) {
        short_life(atoll(argv[2]) * 1000);
        return 0;
    }
    const long count = argc > 1 ? atol(argv[1]) : 100;
    char* us = argc > 2 ? argv[2] : (char*)"2000";
    char* const child[] = {argv[0], (char*)"--live", us, NULL};
    for (long i = 0; i < count; ++i) {
        pid_t pid;
        if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, child, environ) != 0) return 1;
        int status;
        if (waitpid(pid, &status, 0) != pid || status != 0) return 1;
    }
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("%ld %lld\n", count,
           (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
               (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL);
    return 0;
}
