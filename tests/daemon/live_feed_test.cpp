// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/live_feed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.hpp"

namespace perfvigil::daemon {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> texts(const LiveSlices& slices) {
    std::vector<std::string> all;
    for (const auto& slice : slices) all.push_back(*slice);
    return all;
}

std::string joined(const LiveSlices& slices) {
    std::string all;
    for (const auto& slice : slices) all += *slice;
    return "<" + all + ">";
}

struct LiveFeedTest : testing::Test {
    std::shared_ptr<BodyStream> wait(std::uint64_t number) {
        auto stream = feed.wait(number, clock.monotonic() + seconds(15), clock, joined);
        if (stream) stream->on_news([this] { ++woken; });
        return stream;
    }
    LiveFeed feed;
    test::ManualClock clock;
    int woken = 0;
};

TEST_F(LiveFeedTest, GivesWhatCameSince) {
    EXPECT_THAT(texts(feed.newest()), IsEmpty());
    EXPECT_THAT(texts(feed.after(0)), IsEmpty());
    for (const auto* slice : {"a", "b", "c"}) feed.put(slice);
    EXPECT_THAT(texts(feed.newest()), ElementsAre("c"));
    EXPECT_THAT(texts(feed.after(0)), ElementsAre("a", "b", "c"));
    EXPECT_THAT(texts(feed.after(2)), ElementsAre("c"));
    EXPECT_THAT(texts(feed.after(3)), IsEmpty());
    // Of another run of the daemon.
    EXPECT_THAT(texts(feed.after(4000)), ElementsAre("a", "b", "c"));
}

TEST_F(LiveFeedTest, ForgetsTheOldest) {
    for (std::size_t i = 0; i < LiveFeed::kMostSlices + 5; ++i) feed.put(std::to_string(i));
    EXPECT_EQ(feed.after(0).size(), LiveFeed::kMostSlices);
    EXPECT_EQ(*feed.after(0).front(), "5");
    feed.put(std::string(LiveFeed::kMostBytes + 1, 'x'));
    EXPECT_EQ(feed.after(0).size(), 1U);  // the newest stays, however large
    feed.put("y");
    EXPECT_THAT(texts(feed.after(0)), ElementsAre("y"));
}

TEST_F(LiveFeedTest, WakesWhoWaits) {
    feed.put("a");
    const auto stream = wait(1);
    EXPECT_FALSE(stream->take().last);
    EXPECT_EQ(stream->patience(), seconds(15));
    feed.put("b");
    EXPECT_EQ(woken, 1);
    const auto piece = stream->take();
    EXPECT_EQ(piece.bytes, "<b>");
    EXPECT_TRUE(piece.last);
}

TEST_F(LiveFeedTest, AnswersWithNothingInTheEnd) {
    const auto stream = wait(0);
    clock.advance(seconds(14));
    EXPECT_FALSE(stream->take().last);
    clock.advance(seconds(1));
    const auto piece = stream->take();
    EXPECT_EQ(piece.bytes, "<>");
    EXPECT_TRUE(piece.last);
}

TEST_F(LiveFeedTest, LetsEverybodyGoWhenItCloses) {
    const auto stream = wait(0);
    feed.close();
    EXPECT_EQ(woken, 1);
    EXPECT_TRUE(stream->take().last);
}

TEST_F(LiveFeedTest, AnEarlierRunsNumberWaitsForTheFirstSlice) {
    const auto stream = wait(77);
    EXPECT_FALSE(stream->take().last);
    feed.put("first");
    EXPECT_EQ(stream->take().bytes, "<first>");
}

TEST_F(LiveFeedTest, WaitersAreLimited) {
    std::vector<std::shared_ptr<BodyStream>> all;
    for (std::size_t i = 0; i < LiveFeed::kMostWaiters; ++i) all.push_back(wait(0));
    EXPECT_EQ(wait(0), nullptr);
    all.pop_back();
    EXPECT_NE(wait(0), nullptr);
    all.clear();
    feed.put("a");
    EXPECT_EQ(woken, 0);
}

}  // namespace
}  // namespace perfvigil::daemon
