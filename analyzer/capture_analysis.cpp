// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/capture_analysis.hpp"

#include "analyzer/stream_analysis.hpp"
#include "analyzer/symbols/host_names.hpp"
#include "analyzer/symbols/this_host.hpp"

namespace perfvigil::analyzer {
namespace {

// What the kernel's text means must be known before the first sample, and where that kernel lay is said by records in
// front of it.
class Sink final : public collector::RecordSink {
public:
    Sink(StreamAnalysis& analysis, CaptureNames& names, const collector::CaptureReader& reader, const Clock& clock)
        : analysis_(analysis), names_(names), reader_(reader), clock_(clock) {}

    void on_record(const collector::OrderedRecord& record) override {
        if (!prepared_ && std::holds_alternative<collector::SampleRecord>(record.record)) prepare();
        analysis_.on_record(record);
    }
    void on_cut(const collector::Cut& cut) override { analysis_.on_cut(cut); }

private:
    void prepare() {
        prepared_ = true;
        const auto* symbols = names_.names().symbolizer().kernel_symbols();
        analysis_.set_kernel_text(KernelText(capture_text_ranges(reader_.host(), read_this_host(clock_), symbols)));
    }

    StreamAnalysis& analysis_;
    CaptureNames& names_;
    const collector::CaptureReader& reader_;
    const Clock& clock_;
    bool prepared_ = false;
};

}  // namespace

Result<Profile> analyze_capture(collector::CaptureReader& reader, std::string id, const Clock& clock) {
    CaptureNames names(clock, reader);
    StreamAnalysis analysis(reader.events(), names, KernelText(), {}, nullptr);
    if (!reader.host().cpu_times.empty()) analysis.set_baseline_times(reader.host().cpu_times.front().cpus);
    Sink sink(analysis, names, reader, clock);
    if (auto finished = reader.finish(sink); !finished) return fail(std::move(finished.error()));
    auto profile = analysis.build(reader.host(), std::move(id));
    const auto& warnings = reader.warnings();
    profile.warnings.insert(profile.warnings.begin(), warnings.begin(), warnings.end());
    for (auto& degraded : names.names().symbolizer().degraded()) profile.degraded.push_back(std::move(degraded));
    return profile;
}

}  // namespace perfvigil::analyzer
