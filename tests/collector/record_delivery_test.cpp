// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/record_delivery.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/record_bytes.hpp"

namespace perfvigil::collector {
namespace {

class Collected final : public RecordSink {
public:
    void on_record(const OrderedRecord& record) override {
        times.push_back(to_ns(record.time));
        late += record.late ? 1 : 0;
        known += record.event != nullptr ? 1 : 0;
    }
    void on_cut(const Cut&) override {}
    std::vector<std::uint64_t> times;
    int late = 0;
    int known = 0;
};

class RecordDeliveryTest : public testing::Test {
protected:
    RecordDeliveryTest() {
        delivery.set_layouts(samples, side_band);
        EventInstance instance;
        instance.layout = samples;
        table.add_instance(EventId{1}, instance);
    }
    void push_sample(std::uint64_t time, std::uint32_t generation = 0, std::uint64_t id = 1) {
        test::SampleFields sample;
        sample.id.time = monotonic_from_ns(time);
        sample.id.id = EventId{id};
        delivery.push(test::record_bytes(samples, sample), RingKind::kSamples, generation);
    }
    void push_comm(std::uint64_t time, std::uint32_t generation = 0) {
        CommRecord comm;
        comm.sample.time = monotonic_from_ns(time);
        comm.sample.id = EventId{1};
        delivery.push(test::record_bytes(side_band, comm), RingKind::kSideBand, generation);
    }

    RecordLayout samples = RecordLayout::of(test::cpu_clock_attr());
    RecordLayout side_band = RecordLayout::of(test::side_band_attr());
    EventTable table;
    SessionCounters counters;
    RecordDelivery delivery{table, counters};
    Collected sink;
};

TEST_F(RecordDeliveryTest, RingsInOneOrder) {
    push_sample(30);
    push_sample(50);
    push_comm(10);
    push_comm(40);
    delivery.deliver_before(monotonic_from_ns(45), sink);
    EXPECT_EQ(sink.times, (std::vector<std::uint64_t>{10, 30, 40}));
    EXPECT_EQ(delivery.pending(), 1U);
    delivery.deliver_before(MonotonicTime::max(), sink);
    EXPECT_EQ(sink.times.back(), 50U);
    EXPECT_EQ(counters.records, 4U);
    EXPECT_EQ(counters.samples, 2U);
    EXPECT_EQ(sink.known, 4);
    EXPECT_EQ(counters.late_records, 0U);
}

TEST_F(RecordDeliveryTest, LateAfterACut) {
    delivery.cut_made(monotonic_from_ns(100));
    push_sample(99);
    push_sample(100);
    delivery.deliver_before(MonotonicTime::max(), sink);
    EXPECT_EQ(sink.late, 1);
    EXPECT_EQ(counters.late_records, 1U);
}

TEST_F(RecordDeliveryTest, GenerationsTakeOverAtOneTime) {
    push_sample(90, 0);
    push_sample(91, 1);  // not yet: the old one has it too
    push_comm(92, 1);
    delivery.deliver_before(monotonic_from_ns(100), sink);
    EXPECT_EQ(sink.times, (std::vector<std::uint64_t>{90}));
    EXPECT_EQ(counters.duplicate_samples, 1U) << "side-band records are not samples";
    delivery.switch_to(1, monotonic_from_ns(100));
    push_sample(99, 0);   // late, but its own
    push_sample(100, 0);  // no longer
    push_sample(99, 1);   // not yet
    push_sample(100, 1);
    delivery.deliver_before(MonotonicTime::max(), sink);
    EXPECT_EQ(sink.times, (std::vector<std::uint64_t>{90, 99, 100}));
    EXPECT_EQ(counters.duplicate_samples, 3U);
}

TEST_F(RecordDeliveryTest, WhatCannotBeReadIsCounted) {
    const std::vector<std::byte> nothing;
    delivery.push(nothing, RingKind::kSamples, 0);
    const std::vector<std::byte> header_only{std::byte{9}, std::byte{}, std::byte{},  std::byte{},
                                             std::byte{},  std::byte{}, std::byte{8}, std::byte{}};
    delivery.push(header_only, RingKind::kSamples, 0);
    EXPECT_EQ(counters.malformed_records, 2U);
    // A readable time but a chain that is longer than its record.
    test::SampleFields sample;
    sample.id.time = monotonic_from_ns(5);
    sample.chain = {1, 2, 3};
    auto bytes = test::record_bytes(samples, sample);
    bytes.resize(bytes.size() - 16);
    ByteWriter(bytes).patch(6, static_cast<std::uint16_t>(bytes.size()));
    delivery.push(bytes, RingKind::kSamples, 0);
    delivery.deliver_before(MonotonicTime::max(), sink);
    EXPECT_EQ(counters.malformed_records, 3U);
    EXPECT_TRUE(sink.times.empty());
    push_sample(6, 0, 4711);
    delivery.deliver_before(MonotonicTime::max(), sink);
    EXPECT_EQ(counters.unknown_ids, 1U);
    EXPECT_EQ(sink.times.size(), 1U) << "delivered, without an event";
    EXPECT_EQ(sink.known, 0);
}

}  // namespace
}  // namespace perfvigil::collector
