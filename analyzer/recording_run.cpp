// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/recording_run.hpp"

#include <utility>

#include "analyzer/stream_analysis.hpp"
#include "analyzer/symbols/host_names.hpp"
#include "analyzer/unwind/capture_unwinding.hpp"
#include "collector/capture_writer.hpp"

namespace perfvigil::analyzer {

// Both consumers of the stream: the analysis first, since it applies each record to the process table that the writer
// consults.
struct RecordingRun::Parts final : collector::RecordSink {
    Parts(Options given, Names give_names) : options(std::move(given)), names(give_names) {}

    void on_record(const collector::OrderedRecord& record) override {
        if (std::holds_alternative<collector::KsymbolRecord>(record.record)) names.symbolizer.note_kernel_change();
        analysis->on_record(record);
        if (writer && kept(record)) writer->write(record);
    }
    void on_cut(const collector::Cut& cut) override {
        if (!cut.modules.empty()) names.symbolizer.note_kernel_change();
        analysis->on_cut(cut);
        if (writer) writer->cut(cut);
    }

    // Other control groups were recorded only because the kernel cannot leave them out.
    [[nodiscard]] bool kept(const collector::OrderedRecord& record) const {
        const auto& cgroup = options.selection.cgroup;
        const auto* sample = cgroup ? std::get_if<collector::SampleRecord>(&record.record) : nullptr;
        return sample == nullptr || cgroup->takes(analysis->processes().cgroup_path(sample->cgroup));
    }

    void prepare(const collector::RecordingSession& session) {
        host = session.host();
        host.command_line = options.command_line;
        host.text_ranges = kernel_text_ranges(names.symbolizer.kernel_symbols());
        analysis.emplace(session.events(), names.symbolizer, KernelText(host.text_ranges),
                         SliceLimits{.max_stack = options.recording.tuning.max_stack}, &names.listener);
        if (!host.cpu_times.empty()) analysis->set_baseline_times(host.cpu_times.front().cpus);
        analysis->select(options.selection);
        if (options.hidden.paths) analysis->redact_paths();
        if (!options.hidden.exclude.empty()) {
            exclusion.emplace(options.hidden.exclude);
            analysis->exclude(&*exclusion);
        }
        if (!options.unwinds || options.recording.call_chains != collector::CallChains::kStackDumps) return;
        unwind_tables.emplace(names.symbolizer, names.child);
        unwinder.emplace(*unwind_tables, unwind_machine(host.architecture));
        analysis->set_user_chains(&*unwinder);
    }

    Options options;
    Names names;
    collector::HostFacts host;
    std::optional<UnwindTables> unwind_tables;
    std::optional<StackUnwinder> unwinder;
    std::optional<Exclusion> exclusion;
    std::optional<StreamAnalysis> analysis;
    std::unique_ptr<collector::CaptureWriter> writer;
};

RecordingRun::RecordingRun(std::unique_ptr<collector::RecordingSession> session, std::unique_ptr<Parts> parts)
    : session_(std::move(session)), parts_(std::move(parts)) {}
RecordingRun::~RecordingRun() = default;

Result<std::unique_ptr<RecordingRun>> RecordingRun::open(Options options, const Clock& clock,
                                                         collector::EventKernel& kernel, Names names) {
    auto session = collector::RecordingSession::open(options.recording, clock, kernel);
    if (!session) return fail(std::move(session.error()));
    auto parts = std::make_unique<Parts>(std::move(options), names);
    return std::unique_ptr<RecordingRun>(new RecordingRun(std::move(*session), std::move(parts)));
}

Result<void> RecordingRun::start() {
    if (auto started = session_->start(); !started) return started;
    // Before anything is built on it: what the host was at the start belongs to the facts.
    parts_->prepare(*session_);
    return {};
}

Result<void> RecordingRun::keep(std::unique_ptr<collector::CaptureFile> file, int compression) {
    auto facts = parts_->host;
    // What a CPU did besides is not in the file, so its readers must not look for whole CPUs.
    if (parts_->options.selection.cgroup) facts.scope = collector::HostFacts::Scope::kTasks;
    auto writer = collector::CaptureWriter::create(
        std::move(file), session_->events(), facts, parts_->analysis->processes(),
        {.compression_level = compression, .command_line = parts_->options.command_line});
    if (!writer) return fail(std::move(writer.error()));
    parts_->writer = std::move(*writer);
    return {};
}

Result<void> RecordingRun::pump() {
    if (auto pumped = session_->pump(*parts_); !pumped) return pumped;
    return parts_->writer ? parts_->writer->flush() : Result<void>{};
}

Result<void> RecordingRun::finish() {
    if (auto finished = session_->finish(*parts_); !finished) return finished;
    return parts_->writer ? parts_->writer->finish() : Result<void>{};
}

Profile RecordingRun::build(std::string id) {
    Profile profile = parts_->analysis->build(parts_->host, std::move(id));
    for (auto& degraded : parts_->names.symbolizer.degraded()) profile.degraded.push_back(std::move(degraded));
    if (parts_->unwinder) {
        for (auto& sentence : unwinding_sentences(*parts_->unwind_tables, parts_->unwinder->counters())) {
            profile.warnings.push_back(std::move(sentence));
        }
    }
    return profile;
}

std::uint64_t RecordingRun::bytes_written() const { return parts_->writer ? parts_->writer->bytes_written() : 0; }

}  // namespace perfvigil::analyzer
