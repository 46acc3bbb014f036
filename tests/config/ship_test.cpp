// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/ship.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/ship_format.hpp"

namespace perfvigil::config {
namespace {

TEST(ShipUrlTest, Parts) {
    const auto url = parse_ship_url("http://127.0.0.1:4318/v1development/profiles?x=1");
    ASSERT_TRUE(url);
    EXPECT_EQ(url->host, "127.0.0.1");
    EXPECT_EQ(url->port, 4318);
    EXPECT_EQ(url->target, "/v1development/profiles?x=1");
    EXPECT_EQ(url->text(), "http://127.0.0.1:4318/v1development/profiles?x=1");
    const auto v6 = parse_ship_url("http://[::1]:80");
    ASSERT_TRUE(v6);
    EXPECT_EQ(v6->host, "::1");
    EXPECT_EQ(v6->authority(), "[::1]:80");
    EXPECT_EQ(v6->target, "/");
    EXPECT_EQ(parse_ship_url("http://localhost/x")->port, 80);
}

TEST(ShipUrlTest, WhatIsNone) {
    for (const auto* text :
         {"", "http://", "http:///x", "https://127.0.0.1/", "http://collector.example/", "http://[::1",
          "http://127.0.0.1:0/", "http://127.0.0.1:99999/", "http://127.0.0.1:x/", "http://1.2.3.4 /",
          "http://1.2.3.4/\r\nX: y", "http://1.2.3.4/#x", "ftp://1.2.3.4/", "http://a@1.2.3.4/"}) {
        EXPECT_FALSE(parse_ship_url(text)) << text;
    }
}

TEST(ShipTargetFormatTest, SaysWhatToWrite) {
    using testing::HasSubstr;
    EXPECT_EQ(ShipTargetFormat{}.parse("").value(), "");
    EXPECT_EQ(ShipTargetFormat{}.parse("/var/spool/x").value(), "/var/spool/x");
    EXPECT_EQ(ShipTargetFormat{}.parse("http://[::1]:4318/x").value(), "http://[::1]:4318/x");
    EXPECT_THAT(ShipTargetFormat{}.parse("https://1.2.3.4/").error().why, HasSubstr("no TLS"));
    EXPECT_THAT(ShipTargetFormat{}.parse("http://host/").error().why, HasSubstr("names are not resolved"));
    EXPECT_THAT(ShipTargetFormat{}.parse("relative").error().suggestion, HasSubstr("/an/absolute/folder"));
    EXPECT_THAT(ShipFormatFormat{}.parse("json").error().suggestion, HasSubstr("pprof or otlp"));
}

}  // namespace
}  // namespace perfvigil::config
