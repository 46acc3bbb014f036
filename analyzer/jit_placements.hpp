// SPDX-License-Identifier: GPL-2.0-or-later
// The code that jitdumps describe, put where it lay by the time of each sample of a capture: what perf inject --jit
// writes into a new capture, done while reading. A dump is found by its marker, the executable mapping of jit-PID.dump;
// its times and the samples' must be of one clock (CLOCK_MONOTONIC: perf record -k mono, and ours).
// Knows no symbols: who reads the dumps is asked for them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/jit_code.hpp"
#include "analyzer/stream_analysis.hpp"
#include "collector/event_table.hpp"
#include "collector/record.hpp"

namespace perfvigil::analyzer {

class JitPlacements {
public:
    // What the whole dump that a marker names says, in order of time; empty: it cannot be used.
    using CodeOf = std::function<std::vector<JitCode>(const collector::DsoRef& marker)>;

    JitPlacements(StreamAnalysis& analysis, const collector::EventTable& events, CodeOf code_of)
        : analysis_(analysis), events_(events), code_of_(std::move(code_of)) {}

    // Before the record is analyzed: what was loaded up to a sample is placed.
    void before(const collector::OrderedRecord& record);
    // After it was: a marker is noted.
    void after(const collector::OrderedRecord& record);

    // Why nothing was placed though there were markers.
    [[nodiscard]] const std::optional<std::string>& refusal() const { return refusal_; }

private:
    struct Source {
        Pid pid{};
        collector::DsoRef marker;
        bool asked = false;           // for its dump: at the first sample, when the capture's host is known
        std::vector<JitCode> code{};  // by time
        std::size_t next = 0;
    };
    void place_next(Source& source);
    [[nodiscard]] bool same_clock() const;

    StreamAnalysis& analysis_;
    const collector::EventTable& events_;
    CodeOf code_of_;
    std::vector<Source> sources_;
    MonotonicTime next_due_ = MonotonicTime::max();
    std::optional<std::string> refusal_;
};

}  // namespace perfvigil::analyzer
