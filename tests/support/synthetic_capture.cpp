// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/synthetic_capture.hpp"

#include <memory>

#include "collector/capture_writer.hpp"
#include "collector/processes.hpp"
#include "tests/support/capture_memory_file.hpp"

namespace perfvigil::test {
namespace {

// What a recorder does with its stream: the process table first, then the file.
class Recorder final : public collector::RecordSink {
public:
    Recorder(collector::ProcessTable& processes, collector::CaptureWriter& writer)
        : processes_(processes), writer_(writer) {}
    void on_record(const collector::OrderedRecord& record) override {
        processes_.apply(record.record);
        writer_.write(record);
    }
    void on_cut(const collector::Cut& cut) override { writer_.cut(cut); }

private:
    collector::ProcessTable& processes_;
    collector::CaptureWriter& writer_;
};

}  // namespace

Result<std::vector<std::byte>> written_capture(SyntheticStream& stream, const collector::HostFacts& host) {
    const auto file = std::make_shared<MemoryFile>();
    collector::ProcessTable processes;
    auto writer = collector::CaptureWriter::create(std::make_unique<MemoryCaptureFile>(file), stream.events(), host,
                                                   processes, {});
    if (!writer) return fail(std::move(writer.error()));
    Recorder recorder(processes, **writer);
    stream.run(recorder);
    if (auto finished = (*writer)->finish(); !finished) return fail(std::move(finished.error()));
    return std::move(file->bytes);
}

}  // namespace perfvigil::test
