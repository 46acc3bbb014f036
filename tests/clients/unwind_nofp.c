// SPDX-License-Identifier: GPL-2.0-or-later
// Call chains that frame pointers cannot show: leaf functions, deep recursion with large frames, callbacks out of libc,
// frames of variable size, signal handlers, a second thread. Runs for SECONDS.
//   unwind_nofp SECONDS
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

static volatile unsigned long sink;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

APART static unsigned long nofp_leaf(unsigned long n) {
    unsigned long x = n;
    for (unsigned long i = 0; i < 20000; ++i) x = x * 6364136223846793005UL + (x >> 7) + i;
    return x;
}

// Ends in the leaf, 24 frames of some 100 bytes further in.
APART static unsigned long nofp_recurse(unsigned depth, unsigned long seed) {
    volatile char room[64];
    memset((void*)room, (int)seed, sizeof room);
    if (depth == 0) return nofp_leaf(seed) + (unsigned long)room[3];
    return nofp_recurse(depth - 1, seed + depth) + (unsigned long)room[depth % sizeof room];
}

APART static int nofp_compare(const void* a, const void* b) {
    unsigned long x = *(const unsigned*)a, y = *(const unsigned*)b;
    for (int i = 0; i < 20; ++i) {
        x ^= x >> 3;
        y ^= y >> 3;
    }
    sink += x & y & 1;
    return *(const unsigned*)a < *(const unsigned*)b ? -1 : *(const unsigned*)a > *(const unsigned*)b;
}

APART static void nofp_sort(void) {
    unsigned values[300];
    for (unsigned i = 0; i < 300; ++i) values[i] = i * 2654435761U;
    qsort(values, 300, sizeof values[0], nofp_compare);
    sink += values[7];
}

APART static unsigned long nofp_variable(unsigned size) {
    volatile char* room = alloca(size);
    room[0] = 1;
    room[size - 1] = 2;
    return nofp_leaf(size) + (unsigned long)room[size - 1];
}

static void nofp_handler(int number) { sink += nofp_leaf((unsigned long)number); }

APART static void nofp_raise(void) {
    for (int i = 0; i < 20; ++i) {
        raise(SIGUSR1);
        sink += 1;
    }
}

// Interrupted in a leaf function, not in a call.
APART static void nofp_timer(void) {
    const struct itimerspec often = {{0, 500000}, {0, 500000}};
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR2;
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return;
    timer_settime(timer, 0, &often, NULL);
    for (int i = 0; i < 40; ++i) sink += nofp_leaf((unsigned long)i);
    timer_delete(timer);
}

APART static void nofp_round(void) {
    for (int i = 0; i < 20; ++i) sink += nofp_recurse(24, (unsigned long)i);
    for (int i = 0; i < 30; ++i) nofp_sort();
    for (unsigned i = 0; i < 20; ++i) sink += nofp_variable(100 + 40 * i);
    nofp_raise();
    nofp_timer();
}

static void* nofp_thread(void* until) {
    while (now() < *(double*)until) nofp_round();
    return NULL;
}

int main(int argc, char** argv) {
    double until = now() + (argc > 1 ? atof(argv[1]) : 5);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = nofp_handler;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    pthread_t thread;
    if (pthread_create(&thread, NULL, nofp_thread, &until) != 0) return 1;
    while (now() < until) nofp_round();
    pthread_join(thread, NULL);
    return 0;
}
