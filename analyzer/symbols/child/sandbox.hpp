// SPDX-License-Identifier: GPL-2.0-or-later
// What the symbol child gives up before it looks at the first foreign byte: capabilities, every descriptor but its
// socket, new privileges, memory, and every system call that it does not need to read one file and write one table.
// After enter_sandbox() a hostile file that takes over the process can use CPU for a while, and answer lies.
#pragma once

#include <cstdint>

#include "base/error.hpp"

namespace perfvigil::analyzer {

struct SandboxLimits {
    std::uint64_t address_space = 2U << 30;  // bytes
    std::uint64_t file_size = 1U << 30;      // of the table
};

// Irreversible. An error means that a barrier could not be raised: the caller must not go on. Under the sanitizers,
// which need what is forbidden here, memory and system calls stay free.
[[nodiscard]] Result<void> enter_sandbox(const SandboxLimits& limits);

// From now on `seconds` of CPU time, then SIGXCPU ends the process.
void limit_cpu_from_now(std::uint32_t seconds);

}  // namespace perfvigil::analyzer
