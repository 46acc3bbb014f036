// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/web_sessions.hpp"

#include <gtest/gtest.h>

#include <set>

namespace perfvigil::daemon {
namespace {

struct WebSessionsTest : testing::Test {
    WebSessions sessions{[this] { return "secret-" + std::to_string(++made); }};
    int made = 0;
    MonotonicTime now = monotonic_from_ns(1'000'000'000'000);
};

TEST_F(WebSessionsTest, AKeyBecomesASessionOnce) {
    const auto key = sessions.new_key(now);
    const auto secret = sessions.redeem(key, now);
    ASSERT_TRUE(secret);
    EXPECT_NE(*secret, key);
    EXPECT_FALSE(sessions.redeem(key, now));
    EXPECT_TRUE(sessions.knows(*secret, now));
    EXPECT_FALSE(sessions.knows(key, now));
    EXPECT_FALSE(sessions.knows("", now));
    EXPECT_FALSE(sessions.redeem("", now));
}

TEST_F(WebSessionsTest, KeysGrowOld) {
    const auto key = sessions.new_key(now);
    EXPECT_FALSE(sessions.redeem(key, now + WebSessions::kKeyLife + Nanoseconds(1)));
    const auto other = sessions.new_key(now);
    EXPECT_TRUE(sessions.redeem(other, now + WebSessions::kKeyLife));
}

TEST_F(WebSessionsTest, SessionsEndWhenNobodyUsesThem) {
    const auto secret = sessions.redeem(sessions.new_key(now), now).value();
    for (int i = 0; i < 5; ++i) {
        now += WebSessions::kSessionIdle;
        EXPECT_TRUE(sessions.knows(secret, now));
    }
    now += WebSessions::kSessionIdle + Nanoseconds(1);
    EXPECT_FALSE(sessions.knows(secret, now));
}

TEST_F(WebSessionsTest, BothAreBounded) {
    const auto first = sessions.new_key(now);
    for (std::size_t i = 0; i < WebSessions::kMostKeys; ++i) (void)sessions.new_key(now);
    EXPECT_FALSE(sessions.redeem(first, now));
    std::vector<std::string> open;
    const auto add = [&] { open.push_back(sessions.redeem(sessions.new_key(now), now).value()); };
    while (open.size() < WebSessions::kMostSessions) add();
    EXPECT_TRUE(sessions.knows(open[0], now));  // so the second is the one idle for longest
    add();
    EXPECT_TRUE(sessions.knows(open[0], now));
    EXPECT_FALSE(sessions.knows(open[1], now));
}

TEST_F(WebSessionsTest, DaemonsHaveCookiesOfTheirOwn) {
    const WebSessions one;
    const WebSessions other;
    EXPECT_NE(one.cookie_name(), other.cookie_name());
    EXPECT_EQ(one.cookie_name().size(), std::string_view("perfvigil_session_12345678").size());
}

TEST(RandomSecret, IsLongAndNew) {
    std::set<std::string> seen;
    for (int i = 0; i < 100; ++i) seen.insert(random_secret());
    EXPECT_EQ(seen.size(), 100U);
    EXPECT_EQ(seen.begin()->size(), 64U);
}

}  // namespace
}  // namespace perfvigil::daemon
