// SPDX-License-Identifier: GPL-2.0-or-later
// Makes code and says so in FOLDER/jit-PID.dump, as perf's jitdump specification has it: jit_first for a third of the
// time, then jit_second at the very same address, then that moved elsewhere; then the end.
//   jitdump SECONDS FOLDER
// Prints the CPU nanoseconds of the three thirds.
#include <elf.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "jit_code.h"

struct header {
    uint32_t magic, version, size, machine, padding, pid;
    uint64_t time, flags;
};
struct record {
    uint32_t id, size;
    uint64_t time;
};
struct load {
    struct record record;
    uint32_t pid, tid;
    uint64_t vma, address, size, index;
};
struct move {
    struct record record;
    uint32_t pid, tid;
    uint64_t vma, from, to, size, index;
};

static FILE* dump;

static void write_load(const uint8_t* code, uint64_t index, const char* name) {
    const struct load load = {
        .record = {.id = 0,
                   .size = (uint32_t)(sizeof(struct load) + strlen(name) + 1 + sizeof kCounting),
                   .time = now_ns(CLOCK_MONOTONIC)},
        .pid = (uint32_t)getpid(),
        .tid = (uint32_t)syscall(SYS_gettid),
        .vma = (uintptr_t)code,
        .address = (uintptr_t)code,
        .size = sizeof kCounting,
        .index = index,
    };
    fwrite(&load, sizeof load, 1, dump);
    fwrite(name, strlen(name) + 1, 1, dump);
    fwrite(code, sizeof kCounting, 1, dump);
    fflush(dump);
}

static void write_move(const uint8_t* from, const uint8_t* to, uint64_t index) {
    const struct move move = {
        .record = {.id = 1, .size = sizeof(struct move), .time = now_ns(CLOCK_MONOTONIC)},
        .pid = (uint32_t)getpid(),
        .tid = (uint32_t)syscall(SYS_gettid),
        .vma = (uintptr_t)to,
        .from = (uintptr_t)from,
        .to = (uintptr_t)to,
        .size = sizeof kCounting,
        .index = index,
    };
    fwrite(&move, sizeof move, 1, dump);
    fflush(dump);
}

// Opens the dump and maps its first page executable, which is how recorders hear of it.
static void open_dump(const char* folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/jit-%d.dump", folder, (int)getpid());
    const int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0666);
    dump = fd < 0 ? NULL : fdopen(fd, "w+");
    if (dump == NULL || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
        perror(path);
        exit(2);
    }
    const struct header header = {
        .magic = 0x4A695444,
        .version = 1,
        .size = sizeof(struct header),
#if defined(__x86_64__)
        .machine = EM_X86_64,
#else
        .machine = EM_AARCH64,
#endif
        .pid = (uint32_t)getpid(),
        .time = now_ns(CLOCK_MONOTONIC),
    };
    fwrite(&header, sizeof header, 1, dump);
    fflush(dump);
}

int main(int argc, char** argv) {
    const double third = (argc > 1 ? atof(argv[1]) : 3) / 3;
    open_dump(argc > 2 ? argv[2] : ".");
    uint8_t* code = code_memory(8192);
    uint64_t spent[3];
    counting function = put_code(code);
    write_load(code, 1, "jit_first");
    spent[0] = run_for(function, third);
    function = put_code(code);
    write_load(code, 2, "jit_second");
    spent[1] = run_for(function, third);
    function = put_code(code + 4096);
    write_move(code, code + 4096, 2);
    spent[2] = run_for(function, third);
    const struct record end = {.id = 3, .size = sizeof(struct record), .time = now_ns(CLOCK_MONOTONIC)};
    fwrite(&end, sizeof end, 1, dump);
    fclose(dump);
    printf("%llu %llu %llu\n", (unsigned long long)spent[0], (unsigned long long)spent[1],
           (unsigned long long)spent[2]);
    return 0;
}
