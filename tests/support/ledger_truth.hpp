// SPDX-License-Identifier: GPL-2.0-or-later
// A synthetic recording through the slice builder, held against its truth: every term of each CPU's ledgers in each
// slice, not only their sum.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "analyzer/slice.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::test {

struct LedgerRecording {
    explicit LedgerRecording(SyntheticOptions options);

    // Visits (what was made, what was true, the slice's number) of each CPU in each slice.
    template <class Visit>
    void each(Visit&& visit) const {
        ASSERT_EQ(slices.size(), stream.truth().size());
        for (std::size_t i = 0; i < slices.size(); ++i) {
            const auto& truths = stream.truth()[i];
            ASSERT_EQ(slices[i]->cpus.size(), truths.size()) << "slice " << i;
            for (std::size_t k = 0; k < truths.size(); ++k) {
                ASSERT_EQ(slices[i]->cpus[k].cpu, truths[k].cpu);
                visit(slices[i]->cpus[k], truths[k], i);
            }
        }
    }

    SyntheticStream stream;
    std::vector<std::unique_ptr<analyzer::Slice>> slices;
};

// Terms of ticks and counters exactly; those that /proc/stat splits within its grain and the chance by which ticks show
// a share of the time.
void expect_true(const analyzer::CpuSlice& cpu, const SyntheticTruth& truth, const SyntheticOptions& options);

}  // namespace perfvigil::test
