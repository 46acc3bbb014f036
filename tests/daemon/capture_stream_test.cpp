// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_stream.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace perfvigil::daemon {
namespace {

using Caller = CaptureStream::Caller;

TEST(CaptureStreamTest, GivesWhatCameInOrderAndThenTheEnd) {
    CaptureStream stream(100, {});
    int woken = 0;
    stream.on_news([&] { ++woken; });
    EXPECT_TRUE(stream.push("ab"));
    EXPECT_TRUE(stream.push("c"));
    EXPECT_EQ(woken, 2);
    auto piece = stream.take();
    EXPECT_EQ(piece.bytes, "abc");
    EXPECT_FALSE(piece.last);
    EXPECT_TRUE(stream.push("d"));
    stream.end();
    piece = stream.take();
    EXPECT_EQ(piece.bytes, "d");
    EXPECT_TRUE(piece.last);
}

TEST(CaptureStreamTest, HoldsNoMoreThanItsLimit) {
    CaptureStream stream(4, {});
    EXPECT_TRUE(stream.push("abcd"));
    EXPECT_FALSE(stream.push("e"));
    EXPECT_EQ(stream.take().bytes, "abcd") << "whole pieces only";
    EXPECT_TRUE(stream.push("fghi"));
}

TEST(CaptureStreamTest, TellsOnceThatTheCallerIsGone) {
    std::vector<Caller> told;
    CaptureStream stream(100, [&](Caller caller) { told.push_back(caller); });
    stream.caller_finished();
    EXPECT_TRUE(stream.push("still read"));
    stream.caller_gone();
    stream.caller_gone();
    EXPECT_EQ(told, (std::vector{Caller::kFinished, Caller::kGone}));
    EXPECT_FALSE(stream.push("for nobody"));
    EXPECT_EQ(stream.take().bytes, "");
}

TEST(CaptureStreamTest, ACallerThatGoesAfterTheEndIsNoNews) {
    std::vector<Caller> told;
    CaptureStream stream(100, [&](Caller caller) { told.push_back(caller); });
    stream.end();
    stream.caller_gone();
    EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace perfvigil::daemon
