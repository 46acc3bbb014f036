// SPDX-License-Identifier: GPL-2.0-or-later
// How much of a capture comes at a time: a replay paces itself between two stretches.
#include <gtest/gtest.h>

#include "collector/capture_reader.hpp"
#include "tests/support/synthetic_capture.hpp"

namespace perfvigil::collector {
namespace {

struct Cuts final : RecordSink {
    void on_record(const OrderedRecord& /*record*/) override {}
    void on_cut(const Cut& /*cut*/) override { ++count; }
    std::size_t count = 0;
};

TEST(CaptureRounds, ComeOneAtATimeOutOfCompressedRecordsToo) {
    constexpr std::size_t kSlices = 20;
    test::SyntheticStream stream({.slices = kSlices, .slice = std::chrono::seconds(1)});
    auto bytes = test::written_capture(stream, stream.host());
    ASSERT_TRUE(bytes) << bytes.error().message;
    auto reader = CaptureReader::from_bytes(std::move(*bytes), "capture");
    ASSERT_TRUE(reader) << reader.error().message;

    Cuts cuts;
    while ((*reader)->next_pump()) {
        const std::size_t before = cuts.count;
        ASSERT_TRUE((*reader)->pump(cuts));
        EXPECT_LE(cuts.count, before + 1);
    }
    ASSERT_TRUE((*reader)->finish(cuts));
    EXPECT_EQ(cuts.count, kSlices);
    EXPECT_GT((*reader)->counts().by_type.at(kRecordCompressed), 0U) << "what this is about";
}

}  // namespace
}  // namespace perfvigil::collector
