// SPDX-License-Identifier: GPL-2.0-or-later
// Machine code made at run time: functions that count down, one of them replaced by another at the same address.
#pragma once

#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef void (*counting)(uint64_t rounds);

// Counts its argument down to 0, with a frame of its own.
static const uint8_t kCounting[] = {
#if defined(__x86_64__)
    0x55,              // push %rbp
    0x48, 0x89, 0xe5,  // mov  %rsp, %rbp
    0x48, 0xff, 0xcf,  // dec  %rdi
    0x75, 0xfb,        // jnz  to dec
    0x5d,              // pop  %rbp
    0xc3,              // ret
#elif defined(__aarch64__)
    0xfd, 0x7b, 0xbf, 0xa9,  // stp  x29, x30, [sp, #-16]!
    0xfd, 0x03, 0x00, 0x91,  // mov  x29, sp
    0x00, 0x04, 0x00, 0xf1,  // subs x0, x0, #1
    0xe1, 0xff, 0xff, 0x54,  // b.ne to subs
    0xfd, 0x7b, 0xc1, 0xa8,  // ldp  x29, x30, [sp], #16
    0xc0, 0x03, 0x5f, 0xd6,  // ret
#else
#error "no machine code for this architecture"
#endif
};

static uint64_t now_ns(clockid_t clock) {
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

// Memory for code; what is in it is written before it runs.
static uint8_t* code_memory(size_t size) {
    void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return memory;
}

static counting put_code(uint8_t* at) {
    memcpy(at, kCounting, sizeof kCounting);
    __builtin___clear_cache((char*)at, (char*)at + sizeof kCounting);
    counting function;
    memcpy(&function, &at, sizeof function);
    return function;
}

// Runs it for that long; its CPU nanoseconds.
__attribute__((noinline)) static uint64_t run_for(counting function, double seconds) {
    const uint64_t end = now_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
    const uint64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID);
    while (now_ns(CLOCK_MONOTONIC) < end) function(100000);
    return now_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}
