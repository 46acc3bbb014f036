// SPDX-License-Identifier: GPL-2.0-or-later
// The code that the kernel has made by now: BPF programs, ftrace's and kprobes' trampolines, as kallsyms lists them.
// What comes later is told by KSYMBOL records; what was there before a recording, by nobody else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfvigil::collector {

struct KernelCode {
    std::uint64_t address = 0;
    std::uint32_t length = 0;  // to the next symbol of any kind: kallsyms has no sizes
    std::uint16_t type = 0;    // KsymbolRecord::type
    std::string name;
};

// Empty where addresses are hidden or kallsyms cannot be read. Takes 30 ms.
[[nodiscard]] std::vector<KernelCode> read_kernel_code(const std::string& proc_root);
[[nodiscard]] std::vector<KernelCode> parse_kernel_code(std::string_view kallsyms);

}  // namespace perfvigil::collector
