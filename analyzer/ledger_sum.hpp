// SPDX-License-Identifier: GPL-2.0-or-later
// The clock ledger of many slices of one CPU. The split by /proc/stat is made over the whole sum, not slice by slice:
// its ticks fall into one slice or its neighbour, and sampled busy time is above the truth in one slice and below in
// the next. Cut off at zero each time, what evens out would pile up as unexplained.
#pragma once

#include "analyzer/ledger.hpp"

namespace perfvigil::analyzer {

class LedgerSum {
public:
    void add(const CpuSlice& cpu) { accumulate(cpu.times_known ? with_times_ : without_times_, cpu); }
    // Its terms may fall from one slice to the next by what evened out; their sum is always the time of all slices.
    [[nodiscard]] ClockLedger ledger() const {
        ClockLedger sum = clock_ledger(with_times_);
        return sum += clock_ledger(without_times_);
    }

private:
    CpuSlice with_times_;
    CpuSlice without_times_;
};

}  // namespace perfvigil::analyzer
