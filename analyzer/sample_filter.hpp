// SPDX-License-Identifier: GPL-2.0-or-later
// Judges the samples of one capture by a SampleSelection, in their order of time. Knows the sample's own fields, no
// process table and no stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/sample_selection.hpp"
#include "base/time.hpp"
#include "collector/record.hpp"

namespace perfvigil::analyzer {

// When a capture's first and last sample were taken.
struct SampleSpan {
    MonotonicTime first{};
    MonotonicTime last{};
};

class SampleFilter {
public:
    SampleFilter() = default;  // takes every sample
    // `span` is needed for a range in percent (without it none is taken); else the first sample judged tells where the
    // capture begins.
    explicit SampleFilter(SampleSelection selection, std::optional<SampleSpan> span = {});

    [[nodiscard]] bool takes(const collector::SampleId& sample, std::optional<CpuId> cpu);

    // The time range as absolute times; absent: none was asked for, or no sample was seen yet.
    struct Range {
        MonotonicTime from{};
        MonotonicTime to = MonotonicTime::max();  // exclusive
    };
    [[nodiscard]] const std::optional<Range>& range() const { return range_; }
    [[nodiscard]] const SampleSelection& selection() const { return selection_; }

    // One sentence for each thing that was asked for and that some samples do not say: they were left out.
    [[nodiscard]] std::vector<std::string> sentences() const;

private:
    void resolve(SampleSpan span);

    SampleSelection selection_;
    std::optional<Range> range_;
    std::uint64_t without_time_ = 0;
    std::uint64_t without_cpu_ = 0;
    std::uint64_t without_task_ = 0;
};

}  // namespace perfvigil::analyzer
