// SPDX-License-Identifier: GPL-2.0-or-later
// Spends its time on one thing besides a program's own code, so that a report must notice it.
//   costs faults|copies|syscalls|futex|shootdowns|strings SECONDS
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 512, kBuffer = 1 << 20 };

static atomic_int stopped;
static volatile long sink;
static char* memory;

static double now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void touch(char* from, int pages) {
    for (int i = 0; i < pages; ++i) from[i * kPage] = 1;
}

static void faults(void) {
    touch(memory, kPages);
    madvise(memory, (size_t)kPages * kPage, MADV_DONTNEED);
}

static void copies(void) {
    static char from[kBuffer], to[kBuffer];
    for (int i = 0; i < 20; ++i) {
        memcpy(to, from, kBuffer);
        from[i] = to[kBuffer - 1 - i];
    }
}

static void syscalls(void) {
    for (int i = 0; i < 1000; ++i) sink += syscall(SYS_getppid);
}

static void futex(void) {
    static int word;
    for (int i = 0; i < 1000; ++i) sink += syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

// The other thread keeps the address space on its CPU, so each change must be told there.
static void* stay(void* nothing) {
    while (!atomic_load(&stopped)) sink += memory[0];
    return nothing;
}

static void shootdowns(void) {
    for (int i = 0; i < 100; ++i) {
        memory[kPage] = 1;
        mprotect(memory + kPage, kPage, PROT_READ);
        mprotect(memory + kPage, kPage, PROT_READ | PROT_WRITE);
    }
}

static void strings(void) {
    static char a[kPage], b[kPage];
    memset(a, 'x', kPage - 1);
    memset(b, 'x', kPage - 1);
    for (int i = 0; i < 1000; ++i) sink += strcmp(a, b) + (long)strlen(a + i);
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(void);
    } kinds[] = {{"faults", faults}, {"copies", copies},         {"syscalls", syscalls},
                 {"futex", futex},   {"shootdowns", shootdowns}, {"strings", strings}};
    if (argc != 3) return 2;
    memory = mmap(NULL, (size_t)kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    madvise(memory, (size_t)kPages * kPage, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
        if (strcmp(kinds[i].name, argv[1]) != 0) continue;
        pthread_t other;
        const int shared = strcmp(argv[1], "shootdowns") == 0;
        if (shared && pthread_create(&other, NULL, stay, NULL) != 0) return 1;
        const double end = now() + atof(argv[2]);
        while (now() < end) kinds[i].run();
        atomic_store(&stopped, 1);
        if (shared) pthread_join(other, NULL);
        return 0;
    }
    return 2;
}
