// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded into a program it sets that program's wall clock alone: by as many nanoseconds as the file that the
// environment's CLOCK_SHIFT names holds now (8 bytes).
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* shift;

__attribute__((constructor)) static void find_shift(void) {
    const char* path = getenv("CLOCK_SHIFT");
    const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    void* mapped = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) shift = mapped;
    close(fd);
}

int clock_gettime(clockid_t clock, struct timespec* time) {
    const int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result != 0 || clock != CLOCK_REALTIME || shift == NULL) return result;
    const int64_t second = 1000000000;
    const int64_t ns = (int64_t)time->tv_sec * second + time->tv_nsec + *shift;
    time->tv_sec = (time_t)(ns / second);
    time->tv_nsec = (long)(ns % second);
    return 0;
}
