// SPDX-License-Identifier: GPL-2.0-or-later
// CPUs that go on counting cycles while they are idle: a polling idle loop, a hypervisor that does not stop the
// counter, an emulated machine. Cycles are then no measure of work, and a frequency is left only where samples tell
// which cycles were counted in idle. Pure functions.
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

// What a CPU counted in idle at least. All 0: nothing of it is proved.
struct IdleCycles {
    double hertz = 0;         // per second of its idle time
    double share = 0;         // of all its cycles
    double busy_at_most = 0;  // of its time
    bool by_samples = false;  // proved by the second of these:

    friend bool operator==(const IdleCycles&, const IdleCycles&) = default;
};
// Two proofs, of which that of the higher rate is taken:
// - A CPU that was mostly idle counted more than all that may have been busy makes as fast as no CPU runs, and the
//   interrupts that no sample of a clock shows.
// - Samples of cycles hit idle, and by their weight idle counts at least half as fast as work does. Where the counter
//   stops they hit the idle loop's own code alone, and that runs for a small part of idle time.
[[nodiscard]] IdleCycles idle_cycles(const CpuSlice& cpu);

// The rate of it, and the highest of these CPUs; 0: cycles are not known to count in idle on this host.
[[nodiscard]] double idle_cycles_hertz(const CpuSlice& cpu);
[[nodiscard]] double idle_cycles_hertz(std::span<const ProfileCpu> cpus);
[[nodiscard]] double idle_cycles_hertz(std::span<const CpuSlice> cpus);

// effective_hertz() on a host whose idle counts at `idle_hertz` (above); absent (0) as well where no CPU runs as fast
// as the quotient says, and where nobody knows how much of it is idle: samples are too few to take idle off, or they
// leave much of the counter unexplained, unless they were lost or the counter had to be shared. Then a CPU that counts
// clearly less than idle does is one that stops in idle.
[[nodiscard]] double effective_hertz(const CpuSlice& cpu, double idle_hertz);

}  // namespace perfvigil::analyzer
