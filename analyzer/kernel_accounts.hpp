// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel's own accounting of a CPU says beside our samples: how busy it was by /proc/stat. Pure functions of a
// CpuSlice.
#pragma once

#include <optional>

#include "analyzer/ledger.hpp"
#include "analyzer/slice.hpp"

namespace perfvigil::analyzer {

// Share of the CPU's time in which it was neither idle nor stolen, by /proc/stat; absent where that was not read, or
// where its columns and the recorded time differ by more than its grain (a CPU that came or went meanwhile).
[[nodiscard]] std::optional<double> busy_by_proc_stat(const CpuSlice& cpu);

// How far that lies outside the interval of our busy (99.9 %), widened by the grain of /proc/stat; 0: they agree. With
// its sign: positive where /proc/stat says more. Absent where either is.
[[nodiscard]] std::optional<double> busy_disagreement(const CpuSlice& cpu);

}  // namespace perfvigil::analyzer
