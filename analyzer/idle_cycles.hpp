// SPDX-License-Identifier: GPL-2.0-or-later
// CPUs that go on counting cycles while they are idle: a polling idle loop, a hypervisor that does not stop the
// counter, an emulated machine. Cycles are then no measure of work, and cycles over busy time are no frequency. Pure
// functions.
#pragma once

#include <optional>
#include <span>

#include "analyzer/ledger.hpp"
#include "analyzer/profile.hpp"
#include "analyzer/slice.hpp"

namespace perfvigil::analyzer {

// How much of the CPU's time it can have been busy at most (99.9 %): by its samples, and by a second witness that it
// was idle at all, /proc/stat or idle samples. Absent where there is no clock, or no such witness: then a clock that
// stood still would look like an idle CPU.
[[nodiscard]] std::optional<double> most_busy(const CpuSlice& cpu);

// The rate, in hertz, at which cycles must have been counted in idle at least: what is left when all that may have been
// busy ran as fast as no CPU does. 0 where the CPU was not mostly idle, or where work and the interrupts that no sample
// of a clock shows can have made them all.
[[nodiscard]] double idle_cycles_hertz(const CpuSlice& cpu);
// The highest of these CPUs; 0: cycles are not known to count in idle on this host.
[[nodiscard]] double idle_cycles_hertz(std::span<const ProfileCpu> cpus);
[[nodiscard]] double idle_cycles_hertz(std::span<const CpuSlice> cpus);

// effective_hertz() on a host whose idle counts at `idle_hertz` (above); absent (0) as well where that is part of it,
// and where no CPU runs as fast as the quotient says. A CPU that counts clearly less stops in idle, whatever others do.
[[nodiscard]] double effective_hertz(const CpuSlice& cpu, double idle_hertz);

}  // namespace perfvigil::analyzer
