// SPDX-License-Identifier: GPL-2.0-or-later
// A capture file into one Profile: all of its samples or the selected ones, with the names that this host can rightly
// give or the given sources have, the reader's warnings, and what names had to do without.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "analyzer/bundle/evidence.hpp"
#include "analyzer/host_name_source.hpp"
#include "analyzer/profile.hpp"
#include "analyzer/sample_selection.hpp"
#include "analyzer/stream_analysis.hpp"
#include "analyzer/symbols/host_names.hpp"
#include "analyzer/symbols/symbol_sources.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/capture_reader.hpp"

namespace perfvigil::analyzer {

// How often the kernel rewrote its instructions at an address (TEXT_POKE records).
using TextPokes = std::map<std::uint64_t, std::uint64_t>;
class EvidenceNames;
class EvidenceRecorder;

struct CaptureOptions {
    SampleSelection samples{};
    SymbolSources symbols{};
    // The same event on the core types of a hybrid CPU (cpu_core/cycles/, cpu_atom/cycles/) is one event in the
    // profile, unless they are wanted apart.
    bool split_hybrid = false;
    Nanoseconds moment{};  // LoadOptions::moment
    // When the capture's first and last sample were taken, by reading it once more: for a range in percent of one whose
    // header does not say. Absent: it is opened by its name.
    std::function<Result<std::optional<SampleSpan>>()> first_pass{};
    std::shared_ptr<const Evidence> evidence{};  // what the capture was bundled with: all names come from there
    bool keep_evidence = false;                  // CaptureAnalysis::recorder
};

// By reading to the end; nullopt: no sample says when it was taken.
[[nodiscard]] Result<std::optional<SampleSpan>> sample_span(collector::CaptureReader& reader);

// The same in steps, for those who look at slices as they go by and at the symbol sources afterwards.
class CaptureAnalysis {
public:
    ~CaptureAnalysis();
    // The error says which option cannot be obeyed. `reader` and `clock` outlive the analysis.
    [[nodiscard]] static Result<std::unique_ptr<CaptureAnalysis>> prepare(collector::CaptureReader& reader,
                                                                          const CaptureOptions& options,
                                                                          const Clock& clock);

    void each_slice(std::function<void(const Slice&)> visit) { analysis_.each_slice(std::move(visit)); }
    // Reads to the end. The error is the reader's: nothing in the file could be read.
    [[nodiscard]] Result<Profile> finish(std::string id);
    // Of this host and of the given sources, whether they are asked or not.
    [[nodiscard]] CaptureNames& names() { return names_; }
    // Behind finish(); of the first places that changed, as many as there is room for.
    [[nodiscard]] const TextPokes& text_pokes() const { return pokes_; }
    // What is asked.
    [[nodiscard]] NameSource& source() { return *source_; }
    [[nodiscard]] EvidenceNames* evidence() { return evidence_.get(); }     // null: there is none
    [[nodiscard]] EvidenceRecorder* recorder() { return recorder_.get(); }  // null: none was wanted

private:
    CaptureAnalysis(collector::CaptureReader& reader, const CaptureOptions& options, const Clock& clock);
    [[nodiscard]] NameSource& answering();
    void add_debug_information(Profile& profile, const std::vector<SampledCode>& codes);

    collector::CaptureReader& reader_;
    CaptureNames names_;
    HostNameSource host_;
    std::unique_ptr<EvidenceNames> evidence_;
    std::unique_ptr<EvidenceRecorder> recorder_;
    NameSource* source_;
    StreamAnalysis analysis_;
    TextPokes pokes_;
    SampleSelection selection_;
    bool fine_ = false;
};

[[nodiscard]] Result<Profile> analyze_capture(collector::CaptureReader& reader, std::string id,
                                              const CaptureOptions& options, const Clock& clock);

}  // namespace perfvigil::analyzer
