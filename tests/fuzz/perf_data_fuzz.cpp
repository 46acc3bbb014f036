// SPDX-License-Identifier: GPL-2.0-or-later
// Any bytes as a capture: read or refused with a sentence, one last cut, and every view within its record.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "collector/capture_reader.hpp"
#include "collector/processes.hpp"

namespace {

using namespace perfvigil;
using namespace perfvigil::collector;

std::uint64_t g_sink = 0;  // what was read must not be optimised away

void check(bool holds) {
    if (!holds) std::abort();
}

class Touching final : public RecordSink {
public:
    explicit Touching(const CaptureReader& reader) : reader_(reader) {}

    void on_record(const OrderedRecord& record) override {
        table_.apply(record.record);
        for (const std::byte b : record.bytes) g_sink += std::to_integer<std::uint64_t>(b);
        if (record.event != nullptr) check(record.event->event.value < reader_.events().events().size());
        if (const auto* sample = std::get_if<SampleRecord>(&record.record)) {
            for (std::size_t i = 0; i < sample->chain.size(); ++i) g_sink += sample->chain[i];
            for (std::size_t i = 0; i < sample->read.size(); ++i) g_sink += sample->read[i].value;
            (void)table_.process(sample->sample.pid);
        }
        if (const auto* mmap = std::get_if<MmapRecord>(&record.record)) {
            for (const char c : mmap->path) g_sink += static_cast<unsigned char>(c);
        }
    }
    void on_cut(const Cut& cut) override {
        check(!ended);
        ended = cut.last;
    }

    bool ended = false;

private:
    const CaptureReader& reader_;
    ProcessTable table_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    auto reader = CaptureReader::from_bytes({bytes.begin(), bytes.end()}, "fuzz");
    if (!reader) {
        check(!reader.error().message.empty());
        return 0;
    }
    Touching sink(**reader);
    const auto finished = (*reader)->finish(sink);
    check(sink.ended);
    check(finished.has_value() || !finished.error().message.empty());
    for (const auto& warning : (*reader)->warnings()) check(!warning.empty());
    g_sink += (*reader)->build_ids().size() + (*reader)->host().cpu_times.size();
    return 0;
}
