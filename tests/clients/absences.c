// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps a CPU busy and notes when the CPU itself was away: stretches in which a program that never sleeps executed
// nothing. Runs until SIGTERM or for SECONDS.
//   absences SECONDS CPU
// Prints a line for each: start and end (CLOCK_MONOTONIC, ns), how much of it the scheduler gave to others (ns; the
// rest counts as our own running time though nothing ran: a hypervisor that does not tell), and the CPU's steal time so
// far by /proc/stat (ns; what a hypervisor tells).
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 65536, kShortest = 300000 };

static volatile sig_atomic_t stop;
static struct {
    int64_t start, end, given_away, stolen;
} absences[kMost];

static void on_signal(int number) {
    (void)number;
    stop = 1;
}

static int64_t now(clockid_t clock) {
    struct timespec ts;
    clock_gettime(clock, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static int64_t stolen_from(int cpu) {
    char line[512], name[16];
    long long steal = 0;
    FILE* file = fopen("/proc/stat", "r");
    if (file == NULL) return 0;
    snprintf(name, sizeof name, "cpu%d ", cpu);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) != 0) continue;
        sscanf(line, "%*s %*d %*d %*d %*d %*d %*d %*d %lld", &steal);
        break;
    }
    fclose(file);
    return steal * (1000000000 / sysconf(_SC_CLK_TCK));
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
    // While others run here we cannot tell whether the CPU is there: as little of that as the recorder bears.
    (void)setpriority(PRIO_PROCESS, 0, -10);

    int count = 0;
    int64_t last = now(CLOCK_MONOTONIC);
    int64_t not_running = last - now(CLOCK_THREAD_CPUTIME_ID);
    while (!stop) {
        const int64_t time = now(CLOCK_MONOTONIC);
        if (time - last >= kShortest && count < kMost) {
            const int64_t not_running_now = time - now(CLOCK_THREAD_CPUTIME_ID);
            absences[count].start = last;
            absences[count].end = time;
            absences[count].given_away = not_running_now - not_running;
            absences[count++].stolen = stolen_from(cpu);
            not_running = not_running_now;
            last = now(CLOCK_MONOTONIC);  // reading /proc/stat was no absence
        } else {
            last = time;
        }
    }
    for (int i = 0; i < count; ++i) {
        printf("%lld %lld %lld %lld\n", (long long)absences[i].start, (long long)absences[i].end,
               (long long)absences[i].given_away, (long long)absences[i].stolen);
    }
    return 0;
}
