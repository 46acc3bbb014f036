// SPDX-License-Identifier: GPL-2.0-or-later
// For tests of the capture reader: records of a plain layout, and what a sink heard of a capture.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "collector/capture_reader.hpp"
#include "tests/support/record_bytes.hpp"

namespace perfvigil::test {

// A hardware event with ip, tid, time, period and `extra`.
[[nodiscard]] inline collector::EventAttr attr_of(std::uint64_t config, std::uint64_t extra = collector::kSampleId) {
    using namespace collector;
    EventAttr attr;
    attr.type = kTypeHardware;
    attr.config = config;
    attr.sample_type = kSampleIp | kSampleTid | kSampleTime | kSamplePeriod | extra;
    attr.set(kFlagSampleIdAll);
    return attr;
}

// Samples and comms of one event layout, by time in nanoseconds.
class Records {
public:
    explicit Records(const collector::EventAttr& attr, Endian endian = Endian::kNative)
        : layout_(collector::RecordLayout::of(attr, endian)) {}

    std::vector<std::byte> sample(std::uint64_t time, std::uint64_t id = 1, std::uint64_t period = 10) const {
        SampleFields s;
        s.id.time = monotonic_from_ns(time);
        s.id.id = EventId{id};
        s.id.pid = Pid{7};
        s.id.tid = Tid{7};
        s.ip = 0x1000 + time;
        s.period = period;
        return record_bytes(layout_, s);
    }
    std::vector<std::byte> comm(std::uint64_t time, std::string_view name) const {
        collector::CommRecord c{.pid = Pid{7}, .tid = Tid{7}, .comm = name};
        c.sample.time = monotonic_from_ns(time);
        c.sample.id = EventId{1};
        return record_bytes(layout_, c);
    }
    const collector::RecordLayout& layout() const { return layout_; }

private:
    collector::RecordLayout layout_;
};

struct Heard {
    std::unique_ptr<collector::CaptureReader> reader;
    std::vector<std::uint64_t> times;
    std::vector<std::uint64_t> periods;  // of samples
    std::vector<std::string> events;     // of samples
    std::vector<collector::Cut> cuts;

    std::vector<std::uint64_t> cut_times() const {
        std::vector<std::uint64_t> out;
        for (const collector::Cut& cut : cuts) out.push_back(to_ns(cut.time));
        return out;
    }
};

[[nodiscard]] inline Heard hear(Result<std::unique_ptr<collector::CaptureReader>> opened) {
    Heard heard;
    if (!opened) {
        ADD_FAILURE() << opened.error().message;
        return heard;
    }
    heard.reader = std::move(*opened);
    struct Sink final : collector::RecordSink {
        explicit Sink(Heard& h) : heard(h) {}
        void on_record(const collector::OrderedRecord& record) override {
            heard.times.push_back(to_ns(record.time));
            const auto* sample = std::get_if<collector::SampleRecord>(&record.record);
            if (sample == nullptr) return;
            heard.periods.push_back(sample->period);
            const collector::EventTable& table = heard.reader->events();
            heard.events.push_back(record.event == nullptr ? "?" : table.event(record.event->event).name);
        }
        void on_cut(const collector::Cut& cut) override { heard.cuts.push_back(cut); }
        Heard& heard;
    } sink(heard);
    EXPECT_TRUE(heard.reader->finish(sink).has_value());
    EXPECT_EQ(heard.reader->next_pump(), std::nullopt);
    return heard;
}

[[nodiscard]] inline Heard hear(std::vector<std::byte> bytes) {
    return hear(collector::CaptureReader::from_bytes(std::move(bytes), "test"));
}

}  // namespace perfvigil::test
