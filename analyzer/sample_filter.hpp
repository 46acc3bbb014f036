// SPDX-License-Identifier: GPL-2.0-or-later
// Judges the samples of one recording by a SampleSelection, in their order of time. Knows what a sample says of itself,
// no process table and no stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

// What a sample says of itself; absent: it does not.
struct SampleMarks {
    std::optional<MonotonicTime> time{};
    std::optional<CpuId> cpu{};
    std::optional<Pid> pid{};
    std::optional<Tid> tid{};
    std::string_view cgroup{};  // its path; empty: unknown
};
[[nodiscard]] SampleMarks marks_of(const collector::SampleId& sample, std::optional<CpuId> cpu);

// Why a range in percent is refused where the first and the last time would have to be found first.
inline constexpr std::string_view kReadOnlyOnce =
    "a time range in percent needs to know the end before the start is read, and this input can be read only once; "
    "give the range in seconds, or the input as a file";

class SampleFilter {
public:
    SampleFilter() = default;  // takes every sample
    // `span` is needed for a range in percent (without it none is taken); else the first sample judged tells where the
    // capture begins.
    explicit SampleFilter(SampleSelection selection, std::optional<SampleSpan> span = {});

    [[nodiscard]] bool takes(const SampleMarks& sample);

    // The time range as absolute times; absent: none was asked for, or no sample was seen yet.
    struct Range {
        MonotonicTime from{};
        MonotonicTime to = MonotonicTime::max();  // exclusive
    };
    [[nodiscard]] const std::optional<Range>& range() const { return range_; }
    [[nodiscard]] const SampleSelection& selection() const { return selection_; }

    // One sentence for each thing that was asked for and that some samples do not say: they were left out. What helps
    // depends on where the samples stand.
    enum class Source : std::uint8_t { kRecording, kScript };
    [[nodiscard]] std::vector<std::string> sentences(Source source = Source::kRecording) const;

private:
    void resolve(SampleSpan span);

    SampleSelection selection_;
    std::optional<Range> range_;
    std::uint64_t without_time_ = 0;
    std::uint64_t without_cpu_ = 0;
    std::uint64_t without_pid_ = 0;
    std::uint64_t without_tid_ = 0;
    std::uint64_t without_cgroup_ = 0;
};

}  // namespace perfvigil::analyzer
