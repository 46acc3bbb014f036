// SPDX-License-Identifier: GPL-2.0-or-later
// What code lies where in the kernel, as of the last record: its image with all modules is one Dso, and each piece that
// the kernel made while it ran (a BPF program, a trampoline) is one of its own, because its place is given to the next
// one once it is gone (PERF_RECORD_KSYMBOL). Knows no names but those that records tell.
#pragma once

#include <cstdint>

#include "collector/address_space.hpp"

namespace perfvigil::collector {

struct KernelSpace {
    DsoRef image;               // kKernel
    AddressSpace made;          // kKernelCode
    std::uint32_t version = 0;  // changes with `made`

    [[nodiscard]] const DsoRef& dso_at(std::uint64_t address) const {
        const Mapping* piece = made.find(address);
        return piece == nullptr ? image : piece->dso;
    }
};

}  // namespace perfvigil::collector
