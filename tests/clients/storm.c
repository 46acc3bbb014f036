// SPDX-License-Identifier: GPL-2.0-or-later
// A storm of side-band records: executes itself (fork, exec, exit), or forks, or maps and unmaps executable memory, as
// fast as it can or at RATE per second.
//   storm exec|fork|mmap SECONDS [RATE]
// Prints how many it did.
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

static double now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int once(const char* what, char* self) {
    if (strcmp(what, "mmap") == 0) {
        void* page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return page == MAP_FAILED ? 1 : munmap(page, 4096);
    }
    pid_t pid = 0;
    if (strcmp(what, "exec") == 0) {
        char* const child[] = {self, NULL};
        if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, child, environ) != 0) return 1;
    } else {
        pid = fork();
        if (pid == 0) _exit(0);
    }
    int status;
    return pid <= 0 || waitpid(pid, &status, 0) != pid;
}

int main(int argc, char** argv) {
    if (argc < 3) return 0;  // the executed child
    const double start = now();
    const double seconds = atof(argv[2]);
    const double rate = argc > 3 ? atof(argv[3]) : 0;
    long done = 0;
    while (now() - start < seconds) {
        if (rate > 0 && (double)done > (now() - start) * rate) {
            const struct timespec pause = {0, 200000};
            nanosleep(&pause, NULL);
            continue;
        }
        if (once(argv[1], argv[0]) != 0) return 1;
        ++done;
    }
    printf("%ld\n", done);
    return 0;
}
