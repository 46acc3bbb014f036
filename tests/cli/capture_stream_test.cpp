// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/capture_stream.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "cli/client.hpp"

namespace perfvigil::cli {
namespace {

using namespace std::string_literals;

struct Heard {
    std::vector<std::string> all;
    CaptureFrames frames() {
        return {[this](const boost::json::object& event) {
                    all.push_back("event " + std::string(event.at("event").as_string()));
                    return Result<void>{};
                },
                [this](std::uint64_t offset, Bytes bytes) {
                    all.push_back("bytes " + std::to_string(offset) + "+" + std::to_string(bytes.size()));
                    return Result<void>{};
                },
                [this](Bytes profile) {
                    all.push_back("profile " + std::to_string(profile.size()));
                    return Result<void>{};
                }};
    }
};

const std::string kStream =
    "J\x11\0\0\0{\"event\":\"start\"}"
    "B\x0b\0\0\0\x00\x01\0\0\0\0\0\0abc"
    "?\x02\0\0\0xx"
    "P\x03\0\0\0pro"s;

TEST(CaptureStreamParserTest, TheSameWhereverTheBytesAreCut) {
    const std::vector<std::string> expected{"event start", "bytes 256+3", "profile 3"};
    for (std::size_t cut = 0; cut <= kStream.size(); ++cut) {
        Heard heard;
        CaptureStreamParser parser(heard.frames());
        ASSERT_TRUE(parser.feed(kStream.substr(0, cut)));
        ASSERT_TRUE(parser.feed(kStream.substr(cut)));
        EXPECT_EQ(heard.all, expected) << cut;
        EXPECT_FALSE(parser.within_frame());
    }
}

TEST(CaptureStreamParserTest, AnEndWithinAFrameShows) {
    Heard heard;
    CaptureStreamParser parser(heard.frames());
    ASSERT_TRUE(parser.feed(std::string_view(kStream).substr(0, kStream.size() - 1)));
    EXPECT_TRUE(parser.within_frame());
}

TEST(CaptureStreamParserTest, WhatIsNoCaptureIsAnError) {
    for (const auto& bad : {"J\xff\xff\xff\xff"s, "J\x02\0\0\0[]"s, "J\x01\0\0\0{"s, "B\x07\0\0\0abcdefg"s}) {
        Heard heard;
        CaptureStreamParser parser(heard.frames());
        EXPECT_FALSE(parser.feed(bad));
    }
}

TEST(PercentEncodingTest, LeavesOnlyPlainCharacters) {
    EXPECT_EQ(percent_encoded("/system.slice/a-b_c~1:2,3"), "/system.slice/a-b_c~1:2,3");
    EXPECT_EQ(percent_encoded("a b&c=d%+\n\xc3"), "a%20b%26c%3Dd%25%2B%0A%C3");
}

}  // namespace
}  // namespace perfvigil::cli
