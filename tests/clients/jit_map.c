// SPDX-License-Identifier: GPL-2.0-or-later
// Makes code and says so in /tmp/perf-PID.map: jit_first for half of the time, then jit_second at the very same
// address; beside them jit_other, which stays, for a tenth of the time each.
//   jit_map SECONDS
// Prints the CPU nanoseconds of the three. The map stays: whoever started this removes it.
#include "jit_code.h"

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 2;
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE* map = fopen(path, "w");
    if (map == NULL) {
        perror(path);
        return 2;
    }
    setvbuf(map, NULL, _IOLBF, BUFSIZ);
    uint8_t* code = code_memory(8192);
    const counting other = put_code(code + 4096);
    fprintf(map, "%llx %zx jit_other\n", (unsigned long long)(uintptr_t)(code + 4096), sizeof kCounting);
    uint64_t spent[3] = {0, 0, 0};
    const char* const names[2] = {"jit_first", "jit_second"};
    for (int phase = 0; phase < 2; ++phase) {
        const counting function = put_code(code);
        fprintf(map, "%llx %zx %s\n", (unsigned long long)(uintptr_t)code, sizeof kCounting, names[phase]);
        spent[phase] = run_for(function, 0.4 * seconds);
        spent[2] += run_for(other, 0.1 * seconds);
    }
    fprintf(map, "%llx 40 half_writ", (unsigned long long)(uintptr_t)code);
    fclose(map);
    printf("%llu %llu %llu\n", (unsigned long long)spent[0], (unsigned long long)spent[1],
           (unsigned long long)spent[2]);
    return 0;
}
