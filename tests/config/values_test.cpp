// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/values.hpp"

#include <gtest/gtest.h>

namespace perfvigil::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

TEST(BytesFormatTest, ReadsUnitsAndRefusesTheRest) {
    const BytesFormat format{16, 1ULL << 40};
    const std::vector<std::pair<std::string_view, std::uint64_t>> good{
        {"16", 16},         {"17B", 17},          {"512KiB", 512U << 10}, {"64 MiB", 64U << 20},
        {"1GiB", 1U << 30}, {"1TiB", 1ULL << 40}, {" 1 KiB", 0},
    };
    for (const auto& [text, bytes] : good) {
        const auto parsed = format.parse(text);
        if (bytes == 0) {
            EXPECT_FALSE(parsed) << text;
            continue;
        }
        ASSERT_TRUE(parsed) << text << ": " << parsed.error().why;
        EXPECT_EQ(*parsed, bytes) << text;
    }
    const std::vector<std::pair<std::string_view, std::string_view>> bad{
        {"", "does not begin with a whole number"},
        {"64MB", "unit \"MB\" is not known"},
        {"64k", "unit \"k\" is not known"},
        {"1.5MiB", "does not begin with a whole number"},
        {"-1", "unit \"-1\" is not known"},
        {"15", "is below 16B"},
        {"2TiB", "is above 1TiB"},
        {"99999999999999999999", "does not begin with a whole number"},
        {"18446744073709551615TiB", "is too large"},
    };
    for (const auto& [text, why] : bad) {
        const auto parsed = format.parse(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_NE(parsed.error().why.find(why), std::string::npos) << text << ": " << parsed.error().why;
    }
}

TEST(DurationFormatTest, AsksForAUnit) {
    const DurationFormat format{Nanoseconds{}, std::chrono::hours(24)};
    EXPECT_EQ(format.parse("0").value(), Nanoseconds{});
    EXPECT_EQ(format.parse("5s").value(), Seconds(5));
    EXPECT_EQ(format.parse("100 ms").value(), milliseconds(100));
    EXPECT_EQ(format.parse("10min").value(), minutes(10));
    EXPECT_EQ(format.parse("24h").value(), std::chrono::hours(24));
    EXPECT_EQ(format.parse("1d").value(), std::chrono::hours(24));
    EXPECT_EQ(format.print(std::chrono::hours(48)), "2d");
    EXPECT_EQ(format.parse("5").error().suggestion, "write 5s for seconds");
    EXPECT_FALSE(format.parse("25h"));
    EXPECT_FALSE(format.parse("5m"));
    EXPECT_FALSE(format.parse("s"));
    EXPECT_FALSE(format.parse("9223372036854775807h"));
    EXPECT_FALSE(format.parse("18446744073709551615ms"));
}

TEST(PercentFormatTest, ReadsBackWhatItPrints) {
    const PercentFormat format{0.0001, 1};
    for (const auto* text : {"1%", "0.05%", "100%", "12.5%", "0.01%"}) {
        const auto ratio = format.parse(text);
        ASSERT_TRUE(ratio) << text;
        EXPECT_EQ(format.print(*ratio), text);
        EXPECT_EQ(format.parse(format.print(*ratio)).value(), *ratio);
    }
    EXPECT_DOUBLE_EQ(format.parse("1 %").value(), 0.01);
    EXPECT_EQ(format.parse("1").error().suggestion, "write 1%");
    for (const auto* text : {"", "%", "nan%", "inf%", "1e2%", "0%", "101%", "one%"}) EXPECT_FALSE(format.parse(text));
}

TEST(FrequencyFormatTest, ReadsNumberOrHertz) {
    const FrequencyFormat format{1, 10000};
    EXPECT_EQ(format.parse("99").value(), 99U);
    EXPECT_EQ(format.parse("99Hz").value(), 99U);
    EXPECT_EQ(format.parse("999 Hz").value(), 999U);
    for (const auto* text : {"0", "10001", "99kHz", "Hz", "", "9.9Hz"}) EXPECT_FALSE(format.parse(text)) << text;
}

TEST(ModeFormatTest, RefusesWhatLetsEverybodyIn) {
    EXPECT_EQ(ModeFormat{}.parse("0660").value(), 0660U);
    EXPECT_EQ(ModeFormat{}.parse("600").value(), 0600U);
    EXPECT_EQ(ModeFormat{}.print(0660), "0660");
    for (const auto* text : {"0666", "0770", "0060", "rw", "8", ""}) EXPECT_FALSE(ModeFormat{}.parse(text)) << text;
}

TEST(ListenFormatTest, ReadsBothFamilies) {
    const auto v4 = ListenFormat{}.parse("127.0.0.1:9909");
    ASSERT_TRUE(v4);
    EXPECT_EQ(v4->address, "127.0.0.1");
    EXPECT_EQ(v4->port, 9909);
    const auto v6 = ListenFormat{}.parse("[::1]:1");
    ASSERT_TRUE(v6);
    EXPECT_EQ(v6->address, "::1");
    EXPECT_EQ(ListenFormat{}.print(*v6), "[::1]:1");
    EXPECT_FALSE(ListenFormat{}.parse("off")->enabled);
    for (const auto* text : {"", ":9909", "localhost:1", "::1:99", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                             "[127.0.0.1]:1", "[::1]", "127.0.0.1:-1"}) {
        EXPECT_FALSE(ListenFormat{}.parse(text)) << text;
    }
}

TEST(CpusFormatTest, PrintsRanges) {
    EXPECT_EQ(CpusFormat{}.parse("all")->kind, CpuSelection::Kind::kAll);
    EXPECT_EQ(CpusFormat{}.parse("except-isolated")->kind, CpuSelection::Kind::kExceptIsolated);
    const auto some = CpusFormat{}.parse("0-3,8");
    ASSERT_TRUE(some);
    EXPECT_EQ(some->list.size(), 5U);
    EXPECT_EQ(CpusFormat{}.print(*some), "0-3,8");
    for (const auto* text : {"", "none", "3-", "a-b"}) EXPECT_FALSE(CpusFormat{}.parse(text)) << text;
}

TEST(PathFormatTest, WantsAbsolutePaths) {
    EXPECT_EQ(PathFormat{}.parse("/a b").value(), "/a b");
    EXPECT_FALSE(PathFormat{}.parse(""));
    EXPECT_FALSE(PathFormat{}.parse("a/b"));
    EXPECT_FALSE(PathFormat{}.parse(std::string("/a\0b", 4)));
    EXPECT_EQ((PathFormat{PathFormat::Empty::kAllowed, 10}.parse("").value()), "");
    EXPECT_FALSE((PathFormat{PathFormat::Empty::kRefused, 10}.parse("/0123456789")));
}

TEST(IsLoopbackTest, KnowsBothFamilies) {
    EXPECT_TRUE(is_loopback("127.0.0.1"));
    EXPECT_TRUE(is_loopback("127.8.9.10"));
    EXPECT_TRUE(is_loopback("::1"));
    EXPECT_FALSE(is_loopback("0.0.0.0"));
    EXPECT_FALSE(is_loopback("::"));
    EXPECT_FALSE(is_loopback("10.0.0.1"));
    EXPECT_FALSE(is_loopback("128.0.0.1"));
    EXPECT_FALSE(is_loopback("localhost"));
}

}  // namespace
}  // namespace perfvigil::config
