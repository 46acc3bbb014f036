// SPDX-License-Identifier: GPL-2.0-or-later
// A whole stream into one Profile, on one thread: how the command line analyzes files and its own recordings.
// The daemon joins the same parts over several threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/profile.hpp"
#include "analyzer/profile/builder.hpp"
#include "analyzer/sample_selection.hpp"
#include "analyzer/slice/builder.hpp"
#include "analyzer/slice/kernel_text.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "collector/processes.hpp"
#include "collector/stream.hpp"

namespace perfvigil::analyzer {

class StreamAnalysis final : public collector::RecordSink {
public:
    // `events` and `symbolizer` outlive this. `listener` hears of new Dsos (nullptr: nobody does).
    StreamAnalysis(const collector::EventTable& events, Symbolizer& symbolizer, KernelText text, SliceLimits limits,
                   collector::DsoListener* listener);

    void on_record(const collector::OrderedRecord& record) override { slices_.on_record(record); }
    void on_cut(const collector::Cut& cut) override { slices_.on_cut(cut); }

    void set_kernel_text(KernelText text) { slices_.set_kernel_text(std::move(text)); }
    void set_user_chains(UserChains* chains) { slices_.set_user_chains(chains); }
    // /proc/stat at the recording's start (HostFacts::cpu_times.front()), for the first slice's ledger.
    void set_baseline_times(const std::vector<collector::CpuTimes>& times) { slices_.set_baseline_times(times); }

    // Before the first record. Only these samples make the profile; it says how much of the whole they are. `span`: see
    // SampleFilter.
    //
    // CPUs stay in a profile only where all their samples are in it. Of selected CPUs the others' rows are dropped. For
    // a stretch of time, a process or a thread there is no row at all: counters were read at cuts and count a whole
    // CPU, so neither its enabled time nor what it lost in that part is known, and an estimate beside exact numbers
    // would be taken for one of them.
    void select(const SampleSelection& selection, std::optional<SampleSpan> span = {});

    // The profile's moments become as fine as FineMoments makes them of parts of this length. Before the first record.
    void set_fine_moments(Nanoseconds part);

    // Before the first record. What is hidden is in no slice that each_slice() shows; `exclusion` outlives this.
    void exclude(Exclusion* exclusion) { slices_.exclude(exclusion); }
    void redact_paths() { profile_.redact_paths(); }

    void split_hybrid() { profile_.split_hybrid(); }

    // Is shown each slice that makes the profile, addresses and all.
    void each_slice(std::function<void(const Slice&)> visit) { visit_ = std::move(visit); }

    [[nodiscard]] const collector::ProcessTable& processes() const { return processes_; }
    // ProcessTable::place_code, as of the last record.
    void place_code(Pid pid, const collector::Mapping& code) {
        processes_.place_code(pid, code);
        slices_.code_placed(pid);
    }

    // Before build(): ProfileBuilder::take_codes.
    [[nodiscard]] std::vector<SampledCode> take_codes() { return profile_.take_codes(); }

    // After the last cut.
    [[nodiscard]] Profile build(const collector::HostFacts& host, std::string id);

private:
    void take(std::unique_ptr<Slice> slice);
    void drop_cpus(Slice& slice) const;
    [[nodiscard]] bool clip(Slice& slice) const;

    collector::ProcessTable processes_;
    ProfileBuilder profile_;
    SliceBuilder slices_;
    std::function<void(const Slice&)> visit_;
};

}  // namespace perfvigil::analyzer
