// SPDX-License-Identifier: GPL-2.0-or-later
// Runs one BPF program after the other, SECONDS (1) each, and unloads each before the next: what their place in memory
// means depends on the time. Exits with 77 where BPF programs may not be loaded or are not compiled to machine code.
//   bpf_spin [SECONDS [NAME...]]
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kInstructions = 3000, kSkip = 77 };

static double now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int bpf(int command, union bpf_attr* attr) { return (int)syscall(__NR_bpf, command, attr, sizeof(*attr)); }

// r0 = 1, then r0 = r0 * 31 or r0 += 7 many times over.
static int load(const char* name) {
    static struct bpf_insn code[kInstructions];
    memset(code, 0, sizeof(code));
    code[0] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1};
    for (int i = 1; i < kInstructions - 1; ++i) {
        const int times = i % 2 == 0;
        code[i] = (struct bpf_insn){.code = (uint8_t)(BPF_ALU64 | (times ? BPF_MUL : BPF_ADD) | BPF_K),
                                    .dst_reg = BPF_REG_0,
                                    .imm = times ? 31 : 7};
    }
    code[kInstructions - 1] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
    union bpf_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    attr.insn_cnt = kInstructions;
    attr.insns = (uint64_t)(uintptr_t)code;
    attr.license = (uint64_t)(uintptr_t)"GPL";
    strncpy(attr.prog_name, name, sizeof(attr.prog_name) - 1);
    return bpf(BPF_PROG_LOAD, &attr);
}

static int is_compiled(int program) {
    struct bpf_prog_info info;
    memset(&info, 0, sizeof(info));
    union bpf_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.info.bpf_fd = (uint32_t)program;
    attr.info.info_len = sizeof(info);
    attr.info.info = (uint64_t)(uintptr_t)&info;
    return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0 && info.jited_prog_len > 0;
}

static void run(int program, double seconds) {
    static char packet[64];
    union bpf_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.test.prog_fd = (uint32_t)program;
    attr.test.data_in = (uint64_t)(uintptr_t)packet;
    attr.test.data_size_in = sizeof(packet);
    attr.test.repeat = 10000;
    const double end = now() + seconds;
    while (now() < end && bpf(BPF_PROG_TEST_RUN, &attr) == 0) {
    }
}

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 1;
    for (int i = 2; i < argc; ++i) {
        const int program = load(argv[i]);
        if (program < 0 || !is_compiled(program)) return kSkip;
        run(program, seconds);
        close(program);
        usleep(200 * 1000);  // the kernel frees it a little later
    }
    return 0;
}
