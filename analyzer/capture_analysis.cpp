// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/capture_analysis.hpp"

#include <algorithm>
#include <optional>

#include "analyzer/bundle/evidence_names.hpp"
#include "analyzer/bundle/evidence_recorder.hpp"
#include "analyzer/frame_expansion.hpp"
#include "analyzer/jit_placements.hpp"
#include "analyzer/source_line_names.hpp"
#include "analyzer/symbols/sourced_files.hpp"

namespace perfvigil::analyzer {
namespace {

// What the kernel's text means must be known before the first sample, and where that kernel lay is said by records in
// front of it.
class Sink final : public collector::RecordSink {
public:
    Sink(StreamAnalysis& analysis, NameSource& names, const collector::EventTable& events, TextPokes& pokes)
        : analysis_(analysis),
          names_(names),
          pokes_(pokes),
          jit_(analysis, events, [&names](const collector::DsoRef& marker) { return names.jit_code(marker); }) {}

    void on_record(const collector::OrderedRecord& record) override {
        if (!prepared_ && std::holds_alternative<collector::SampleRecord>(record.record)) prepare();
        if (const auto* poke = std::get_if<collector::TextPokeRecord>(&record.record)) note(*poke);
        jit_.before(record);
        analysis_.on_record(record);
        jit_.after(record);
    }
    void on_cut(const collector::Cut& cut) override { analysis_.on_cut(cut); }
    [[nodiscard]] const std::optional<std::string>& refusal() const { return jit_.refusal(); }

private:
    static constexpr std::size_t kMaxPokes = 65536;

    void note(const collector::TextPokeRecord& poke) {
        if (pokes_.size() < kMaxPokes || pokes_.contains(poke.address)) ++pokes_[poke.address];
    }
    void prepare() {
        prepared_ = true;
        analysis_.set_kernel_text(KernelText(names_.kernel_text()));
    }

    StreamAnalysis& analysis_;
    NameSource& names_;
    TextPokes& pokes_;
    JitPlacements jit_;
    bool prepared_ = false;
};

// When the first and the last sample were taken, of a capture whose header does not say.
class SpanSink final : public collector::RecordSink {
public:
    explicit SpanSink(const collector::EventTable& events) : events_(events) {}

    void on_record(const collector::OrderedRecord& record) override {
        const auto* sample = std::get_if<collector::SampleRecord>(&record.record);
        if (sample == nullptr || record.event == nullptr || !sample->sample.has(collector::kSampleTime)) return;
        if (events_.event(record.event->event).role != collector::EventRole::kSampling) return;
        const MonotonicTime time = sample->sample.time;
        if (!span) span = {time, time};
        span->first = std::min(span->first, time);
        span->last = std::max(span->last, time);
    }
    void on_cut(const collector::Cut& /*cut*/) override {}

    std::optional<SampleSpan> span;

private:
    const collector::EventTable& events_;
};

// What a range in percent is of.
Result<std::optional<SampleSpan>> span_of(const collector::CaptureReader& reader, const CaptureOptions& options) {
    const auto& time = options.samples.time;
    if (!time || time->unit != TimeRange::Unit::kPercent) return std::nullopt;
    if (const auto& times = reader.sample_times()) return SampleSpan{times->first, times->last};
    if (options.first_pass) return options.first_pass();
    if (reader.streamed()) return fail(ErrorCode::kUnsupported, reader.name() + ": " + std::string(kReadOnlyOnce));
    auto first_pass = collector::CaptureReader::open(reader.name());
    if (!first_pass) return fail(std::move(first_pass.error()));
    return sample_span(**first_pass);
}

}  // namespace

Result<std::optional<SampleSpan>> sample_span(collector::CaptureReader& reader) {
    SpanSink sink(reader.events());
    if (auto finished = reader.finish(sink); !finished) return fail(std::move(finished.error()));
    return sink.span;
}

CaptureAnalysis::CaptureAnalysis(collector::CaptureReader& reader, const CaptureOptions& options, const Clock& clock)
    : reader_(reader),
      names_(clock, reader, options.symbols),
      host_(names_, reader),
      evidence_(options.evidence == nullptr ? nullptr : std::make_unique<EvidenceNames>(options.evidence)),
      recorder_(options.keep_evidence ? std::make_unique<EvidenceRecorder>(answering()) : nullptr),
      source_(recorder_ == nullptr ? &answering() : recorder_.get()),
      analysis_(reader.events(), *source_, KernelText(), {}, nullptr),
      selection_(options.samples),
      fine_(options.moment.count() > 0) {
    analysis_.set_user_chains(&source_->user_chains());
    if (options.split_hybrid) analysis_.split_hybrid();
    if (options.moment.count() > 0) analysis_.set_fine_moments(options.moment);
    if (!reader.host().cpu_times.empty()) analysis_.set_baseline_times(reader.host().cpu_times.front().cpus);
}

CaptureAnalysis::~CaptureAnalysis() = default;

NameSource& CaptureAnalysis::answering() { return evidence_ == nullptr ? static_cast<NameSource&>(host_) : *evidence_; }

Result<std::unique_ptr<CaptureAnalysis>> CaptureAnalysis::prepare(collector::CaptureReader& reader,
                                                                  const CaptureOptions& options, const Clock& clock) {
    if (auto usable = check(options.symbols); !usable) return fail(std::move(usable.error()));
    auto span = span_of(reader, options);
    if (!span) return fail(std::move(span.error()));
    std::unique_ptr<CaptureAnalysis> made(new CaptureAnalysis(reader, options, clock));
    made->analysis_.select(options.samples, *span);
    return made;
}

Result<Profile> CaptureAnalysis::finish(std::string id) {
    Sink sink(analysis_, *source_, reader_.events(), pokes_);
    if (auto finished = reader_.finish(sink); !finished) return fail(std::move(finished.error()));
    if (auto usable = source_->usable(); !usable) return fail(std::move(usable.error()));
    const auto codes = analysis_.take_codes();
    auto profile = analysis_.build(reader_.host(), std::move(id));
    add_debug_information(profile, codes);
    const auto& warnings = reader_.warnings();
    profile.warnings.insert(profile.warnings.begin(), warnings.begin(), warnings.end());
    if (const auto& sentence = sink.refusal()) profile.warnings.push_back(*sentence);
    for (auto& sentence : source_->unwinding()) profile.warnings.push_back(std::move(sentence));
    for (auto& sentence : source_->refusals()) profile.warnings.push_back(std::move(sentence));
    for (auto& sentence : source_->notes()) profile.notes.push_back(std::move(sentence));
    for (auto& degraded : source_->degraded()) profile.degraded.push_back(std::move(degraded));
    return profile;
}

// The lines and inlined calls that were asked for.
void CaptureAnalysis::add_debug_information(Profile& profile, const std::vector<SampledCode>& codes) {
    if (!selection_.by_line && !selection_.apart()) return;
    auto found = source_->frames_of(codes, selection_.debug_scope());
    if (selection_.by_line) name_source_lines(profile, found.frames);
    if (selection_.apart()) expand_frames(profile, found.frames, selection_, fine_ ? 0 : kTopFunctions);
    for (auto* sentences : {&found.sentences, &found.module_sentences}) {
        for (auto& sentence : *sentences) profile.warnings.push_back(std::move(sentence));
    }
}

Result<Profile> analyze_capture(collector::CaptureReader& reader, std::string id, const CaptureOptions& options,
                                const Clock& clock) {
    auto analysis = CaptureAnalysis::prepare(reader, options, clock);
    if (!analysis) return fail(std::move(analysis.error()));
    return (*analysis)->finish(std::move(id));
}

}  // namespace perfvigil::analyzer
