// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/replay.hpp"

#include <gtest/gtest.h>

#include "tests/support/daemon_immediate_source.hpp"
#include "tests/support/manual_clock.hpp"

namespace perfvigil::daemon {
namespace {

struct CountingSink final : collector::RecordSink {
    void on_record(const collector::OrderedRecord& record) override {
        ++records;
        last = std::max(last, record.time);
    }
    void on_cut(const collector::Cut&) override { ++cuts; }
    std::size_t records = 0;
    std::size_t cuts = 0;
    MonotonicTime last{};
};

std::unique_ptr<test::ImmediateSource> stream() {
    test::SyntheticOptions options;
    options.slices = 4;
    return std::make_unique<test::ImmediateSource>(options);
}

TEST(PacedSourceTest, WaitsAsLongAsTheRecordingTook) {
    const test::ManualClock clock;
    for (const double speed : {1.0, 4.0}) {
        PacedSource paced(stream(), speed, clock);
        CountingSink sink;
        EXPECT_LE(*paced.next_pump(), clock.monotonic()) << "the first records are due at once";
        ASSERT_TRUE(paced.pump(sink));
        const auto wait = to_seconds(*paced.next_pump() - clock.monotonic()) * speed;
        EXPECT_GT(wait, 4.5) << "a slice of 5 s was delivered";
        EXPECT_LT(wait, 5.5);
        ASSERT_TRUE(paced.pump(sink));
        EXPECT_NEAR(to_seconds(*paced.next_pump() - clock.monotonic()) * speed, 10, 0.5);
        ASSERT_TRUE(paced.finish(sink));
        EXPECT_EQ(sink.cuts, 3U);  // two were pumped, the last came with finish()
    }
}

TEST(PacedSourceTest, SpeedZeroNeverWaits) {
    const test::ManualClock clock;
    PacedSource paced(stream(), 0, clock);
    CountingSink sink;
    ASSERT_TRUE(paced.pump(sink));
    EXPECT_GT(sink.records, 0U);
    EXPECT_LE(*paced.next_pump(), clock.monotonic());
}

}  // namespace
}  // namespace perfvigil::daemon
