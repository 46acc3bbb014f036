// SPDX-License-Identifier: GPL-2.0-or-later
// A record stream into a capture file, flushed to disk a mebibyte at a time as recorders do.
#pragma once

#include <cstdint>

#include "collector/capture_writer.hpp"
#include "collector/stream.hpp"

namespace perfvigil::test {

class CaptureFileSink final : public collector::RecordSink {
public:
    explicit CaptureFileSink(collector::CaptureWriter& writer) : writer_(writer) {}
    void on_record(const collector::OrderedRecord& record) override {
        writer_.write(record);
        if (writer_.bytes_written() - flushed_ < (1U << 20)) return;
        flushed_ = writer_.bytes_written();
        (void)writer_.flush();  // an error stays, finish() tells it
    }
    void on_cut(const collector::Cut& cut) override { writer_.cut(cut); }

private:
    collector::CaptureWriter& writer_;
    std::uint64_t flushed_ = 0;
};

}  // namespace perfvigil::test
