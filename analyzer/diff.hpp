// SPDX-License-Identifier: GPL-2.0-or-later
// Two profiles compared: what changed, by how much at the least and at the most, and what of it may be chance.
// A pure function of the two. docs/diff.md says how it is computed and what it cannot see.
//
// Shares are of all non-idle weight of the event, absolute values are weight per second of recorded time (CPU seconds
// per second for clocks). Weights are time or counts, so the sides' sampling rates need not be the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/diff/callees.hpp"
#include "analyzer/diff/side.hpp"
#include "analyzer/diff/statistics.hpp"
#include "analyzer/profile.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

// Which change the evidence is of: order, discoveries and rules follow it; both are always shown.
enum class DiffMeasure : std::uint8_t { kShare, kAbsolute };
enum class DiffCaution : std::uint8_t { kRefuse, kForce };

struct DiffOptions {
    std::string event;         // empty: each event that both sides have
    bool event_named = false;  // the caller chose the event, so what else one side lacks does not matter
    DiffBy by = DiffBy::kFunction;
    DiffMeasure measure = DiffMeasure::kShare;
    DiffCaution caution = DiffCaution::kRefuse;
};

struct DiffChange {
    double before = 0;
    double after = 0;
    Interval interval;  // of after − before, 95 %
    double p = 1;
    double dispersion = 1;  // how many times more than sampling it varied between slices

    [[nodiscard]] double change() const { return after - before; }
    [[nodiscard]] bool excludes_zero() const { return interval.low > 0 || interval.high < 0; }
};

struct DiffRow {
    std::string name;
    std::string dso;  // functions only
    bool kernel = false;
    std::uint64_t samples_before = 0;
    std::uint64_t samples_after = 0;
    DiffChange share;     // of 1
    DiffChange absolute;  // per second: seconds for clocks, else the event's counts
    bool tested = false;  // enough samples on either side to be judged beside the others
    double rate = 1;      // of false discoveries among all rows with at least this much evidence
    bool significant = false;
};

struct DiffSideFacts {
    std::string id;
    Nanoseconds duration{};
    std::uint32_t cpus = 0;
    std::uint64_t rate = 0;  // as ProfileEvent::rate
    bool frequency_mode = false;
    std::uint64_t samples = 0;  // idle left out
    std::uint64_t idle_samples = 0;
    double weight = 0;
    double unresolved = 0;  // share of the weight without a name
    std::size_t slices = 0;
};

struct Diff {
    // Fewer samples on both sides than this are not judged.
    static constexpr std::uint64_t kFewestSamples = 10;
    static constexpr double kDiscoveryRate = 0.05;

    std::string event;
    WeightUnit unit = WeightUnit::kEvents;
    DiffBy by = DiffBy::kFunction;
    DiffMeasure measure = DiffMeasure::kShare;
    DiffSideFacts before;
    DiffSideFacts after;
    bool absolute_known = false;      // both sides say how long they were recorded, in one unit
    bool sampling_error_only = true;  // what varies between slices is not in the intervals
    std::string why_sampling_only;
    std::vector<DiffRow> rows;  // tested ones first, most evidence first
    std::size_t tested = 0;
    std::size_t significant = 0;
    // The smallest change that would have been noticed four times in five, if a function of this share had been the
    // only one to change.
    struct Detectable {
        double share = 0;
        double change = 0;
    };
    std::vector<Detectable> detectable;
    std::vector<CalleeShift> callees;  // DiffBy::kTotal: functions whose callees changed places, most evidence first
    std::vector<std::string> notes;    // sentences: what differs between the sides beside the code

    [[nodiscard]] bool anything_changed() const { return significant > 0 || !callees.empty(); }
};

// One Diff per event. An error: the sides must not be compared (one sentence per reason), or hold nothing to compare.
[[nodiscard]] Result<std::vector<Diff>> compare(const Profile& before, const Profile& after,
                                                const DiffOptions& options);

}  // namespace perfvigil::analyzer
