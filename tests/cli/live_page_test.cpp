// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/live_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "analyzer/text_table.hpp"

namespace perfvigil::cli {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

json::object cpu(int number, double busy) {
    return {{"cpu", number},
            {"busy", busy},
            {"busy_low", busy - 0.01},
            {"busy_high", busy + 0.01},
            {"coverage", 0.993},
            {"seconds", 5.0},
            {"modes", json::object{{"user", 5 * busy},
                                   {"kernel", 0.0},
                                   {"softirq", 0.0},
                                   {"idle", 5 * (1 - busy)},
                                   {"stolen", 0.0},
                                   {"unknown", 0.0}}}};
}

json::object slice(std::size_t cpus = 2) {
    json::object made{{"number", 7}, {"end", "2026-01-31T12:00:05.000Z"}, {"duration_seconds", 5.0}};
    json::array list;
    for (std::size_t i = 0; i < cpus; ++i) list.push_back(cpu(static_cast<int>(i), 0.1 + 0.8 * (i == cpus - 1)));
    made["cpus"] = std::move(list);
    made["host"] = cpu(-1, 0.5);
    made["ledger"] =
        json::object{{"total", 10.0}, {"lost", 0.1}, {"throttled", 0.0}, {"stolen", 0.2}, {"unexplained", -0.05}};
    made["events"] = json::array{json::object{{"name", "cpu-clock"}, {"samples", 990}, {"lost", 3}}};
    made["cpu_seconds"] = 4.0;
    json::array functions;
    for (int i = 0; i < 50; ++i) {
        functions.push_back(json::object{
            {"function", "function_" + std::to_string(i)}, {"dso", "/usr/bin/app"}, {"seconds", 1.0 / (i + 1)}});
    }
    made["functions"] = std::move(functions);
    made["units"] = json::array{json::object{{"unit", "nginx.service"}, {"seconds", 3.0}, {"throttled_seconds", 0.25}},
                                json::object{{"unit", ""}, {"seconds", 1.0}}};
    made["cost"] = json::object{{"processes", 0.001}, {"kernel", 0.002}, {"captures", 0.0}, {"budget", 0.01}};
    return made;
}

std::string answer(json::array slices, const std::string& run = "2026-01-31T10:00:00.000Z") {
    return json::serialize(json::object{{"run", run},
                                        {"state", "recording"},
                                        {"host", "h1"},
                                        {"slice_seconds", 5.0},
                                        {"degraded", json::array{json::object{{"reason", "no_pmu"}}}},
                                        {"slices", std::move(slices)}});
}

std::vector<std::string> page(const std::string& body, ScreenSize screen = {40, 120}, std::string_view trouble = {}) {
    LiveView view;
    EXPECT_TRUE(view.take(body));
    return view.page(screen, trouble);
}

TEST(LivePage, SaysWhatTheSliceSays) {
    const auto lines = page(answer({slice()}));
    EXPECT_THAT(lines.front(), AllOf(HasSubstr("h1  2026-01-31 "), HasSubstr("recording, slices of 5 s")));
    EXPECT_THAT(lines, Contains(HasSubstr("degraded: no_pmu")));
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr(" 10.0  9.0 … 11.0"), HasSubstr("90.0"))));
    EXPECT_THAT(lines, Contains(AllOf(HasSubstr("all"), HasSubstr("50.0  49.0 … 51.0"))));
    EXPECT_THAT(lines, Contains(HasSubstr("lost 1.00 %, throttled 0.00 %, stolen 2.00 %, unexplained -0.50 %; coverage "
                                          "99.3 %")));
    EXPECT_THAT(lines, Contains(HasSubstr("cpu-clock 990 samples, 3 lost; cost 0.30 % of the host (0.20 % in the "
                                          "kernel), budget 1 %")));
    EXPECT_THAT(lines, Contains(HasSubstr("25.0     1.00  function_0 (app)")));
    EXPECT_THAT(lines, Contains(HasSubstr("75.0     3.00  nginx.service  stopped by its limit for 0.25 s")));
    EXPECT_THAT(lines, Contains(HasSubstr("25.0     1.00  (no unit)")));
}

class LivePageSize : public testing::TestWithParam<std::pair<std::size_t, std::size_t>> {};

TEST_P(LivePageSize, FitsTheScreen) {
    const auto [rows, columns] = GetParam();
    for (const std::size_t cpus : {1U, 2U, 64U, 512U}) {
        const auto lines = page(answer({slice(cpus)}), {rows, columns}, "a daemon that does not answer");
        EXPECT_LE(lines.size(), rows);
        for (const auto& line : lines) EXPECT_LE(analyzer::display_width(line), columns) << line;
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, LivePageSize,
                         testing::Values(std::pair{24, 80}, std::pair{1, 1}, std::pair{3, 200}, std::pair{200, 20},
                                         std::pair{60, 250}));

TEST(LivePage, OnASmallScreenTheBusiestCpusStay) {
    const auto lines = page(answer({slice(64)}), {24, 100});
    EXPECT_THAT(lines, Contains(HasSubstr(" 63    90.0")));
    EXPECT_THAT(lines, Contains(HasSubstr("all")));
    EXPECT_THAT(lines, Contains(HasSubstr("function_0")));
    EXPECT_THAT(lines, Contains(HasSubstr("nginx.service")));
}

TEST(LivePage, HostileNamesSteerNothing) {
    auto hostile = slice();
    hostile["functions"] =
        json::array{json::object{{"function", "\x1b[2J\\x0aevil\r\n\xc2\x9b"}, {"dso", "/x/\x07y"}, {"seconds", 1.0}}};
    hostile["units"] = json::array{json::object{{"unit", "\x1b]0;x\x07.service"}, {"seconds", 1.0}}};
    const auto lines = page(answer({hostile}));
    for (const auto& line : lines) {
        for (const char c : line) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << line;
    }
    EXPECT_THAT(lines, Contains(HasSubstr("\\x1b[2J\\x0aevil\\x0d\\x0a\\xc2\\x9b (\\x07y)")));
}

TEST(LivePage, KeepsTheLastSliceWhenNoneCame) {
    LiveView view;
    ASSERT_TRUE(view.take(answer({slice()})));
    EXPECT_EQ(view.newest(), 7U);
    ASSERT_TRUE(view.take(answer({})));
    EXPECT_EQ(view.newest(), 7U);
    EXPECT_THAT(view.page({40, 120}, "the socket is gone"),
                AllOf(Contains(HasSubstr("function_0")), Contains(HasSubstr("the socket is gone"))));
}

TEST(LivePage, ARestartedDaemonCountsAnew) {
    LiveView view;
    ASSERT_TRUE(view.take(answer({slice()})));
    ASSERT_TRUE(view.take(answer({}, "2026-01-31T11:00:00.000Z")));
    EXPECT_EQ(view.newest(), 0U);
}

TEST(LivePage, BeforeTheFirstSlice) { EXPECT_THAT(page(answer({})), Contains(HasSubstr("no slice yet"))); }

TEST(LivePage, WhatIsNoAnswerIsRefused) {
    LiveView view;
    for (const auto* body : {"", "[]", "{", "{\"error\":\"no\"}"}) EXPECT_FALSE(view.take(body)) << body;
    // Fields of other types are as good as missing.
    EXPECT_TRUE(
        view.take(R"({"run":1,"slices":[{"number":-3,"cpus":7,"host":[],"functions":[1,{"seconds":"x"}]}, 5]})"));
    EXPECT_FALSE(view.page({24, 80}, "").empty());
}

}  // namespace
}  // namespace perfvigil::cli
