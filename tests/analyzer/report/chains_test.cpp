// SPDX-License-Identifier: GPL-2.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "analyzer/name_selection.hpp"
#include "analyzer/report.hpp"
#include "tests/support/profile_maker.hpp"

namespace perfvigil::analyzer {
namespace {

using test::ProfileMaker;
using testing::HasSubstr;
using testing::Not;
namespace json = boost::json;
using Chains = ReportOptions::Chains;

Profile rooted() {
    return ProfileMaker()
        .add("main;parse;copy", 60)
        .add("main;scan;copy", 30)
        .add("main;scan", 10)
        .idle("idle", 50)
        .build();
}

Profile unrooted() { return ProfileMaker().add("parse;copy", 60).add("main;scan;copy", 40).build(); }

std::size_t at(const std::string& text, std::string_view what) {
    const auto found = text.find(what);
    EXPECT_NE(found, std::string::npos) << what << "\n" << text;
    return found;
}

TEST(ReportChains, CallersWithTheirSharesOfTheFunction) {
    const auto text = report_text(rooted(), {});
    EXPECT_THAT(text, HasSubstr("copy  app: self 90.00 %, calls nothing that was sampled"));
    EXPECT_THAT(text, HasSubstr("66.67       60  ← parse ← main\n"));
    EXPECT_THAT(text, HasSubstr("33.33       30  ← scan ← main\n"));
    EXPECT_THAT(text, HasSubstr("scan  app: self 10.00 %, in its callees 30.00 %: copy 30.00\n"));
    EXPECT_THAT(text, Not(HasSubstr("rooted")));
    EXPECT_THAT(report_text(rooted(), {.chains = Chains::kHide}), Not(HasSubstr("←")));
    EXPECT_THAT(report_text(rooted(), {.top = 1}), Not(HasSubstr("scan  app: self")));
}

TEST(ReportChains, WhereMostAreNotRootedThatIsSaidFirst) {
    const auto text = report_text(unrooted(), {});
    EXPECT_LT(at(text, "Only 40.00 % of the call chains of cpu-clock are rooted"), at(text, "cpu-clock:"));
    EXPECT_THAT(text, HasSubstr("--call-chains"));
    EXPECT_THAT(text, Not(HasSubstr("←")));
    const auto asked = report_text(unrooted(), {.chains = Chains::kShow});
    EXPECT_LT(at(asked, "Only 40.00 %"), at(asked, "self %"));
    EXPECT_LT(at(asked, "%  samples  command"), at(asked, "60.00       60  ← parse"));
    EXPECT_THAT(report_text(unrooted(), {.chains = Chains::kHide}), Not(HasSubstr("are rooted")));
}

TEST(ReportChains, AFilterSaysItsShareOfTheWhole) {
    const auto profile = select(rooted(), {.parents = {"scan"}});
    const auto text = report_text(profile, {});
    EXPECT_THAT(text, HasSubstr("shown: only --parent scan"));
    EXPECT_THAT(text, HasSubstr("shown: 30 of the event's 150 samples, 20.00 % of its time"));
    const auto report = json::parse(report_json(profile, {})).as_object();
    EXPECT_EQ(report.at("filter").as_string(), "--parent scan");
    const auto& whole = report.at("events").as_array().at(0).as_object().at("whole").as_object();
    EXPECT_EQ(whole.at("samples").to_number<int>(), 150);
    const auto all = json::parse(report_json(rooted(), {})).as_object();
    EXPECT_TRUE(all.at("filter").is_null());
    EXPECT_FALSE(all.at("events").as_array().at(0).as_object().contains("whole"));
}

TEST(ReportChains, JsonHasTreesAsRows) {
    const auto report = json::parse(report_json(unrooted(), {.top = 0})).as_object();
    const auto& chains = report.at("events").as_array().at(0).as_object().at("call_chains").as_object();
    EXPECT_TRUE(chains.at("recorded").as_bool());
    EXPECT_EQ(chains.at("rooted_samples").to_number<int>(), 40);
    const auto& copy = chains.at("functions").as_array().at(0).as_object();
    EXPECT_EQ(copy.at("symbol").as_string(), "copy");
    EXPECT_EQ(copy.at("self_samples").to_number<int>(), 100);
    const auto& rows = copy.at("callers").as_object().at("rows").as_array();
    ASSERT_EQ(rows.size(), 2U);
    const auto& second = rows[1].as_object();
    EXPECT_EQ(second.at("depth").to_number<int>(), 0);
    EXPECT_EQ(second.at("samples").to_number<int>(), 40);
    ASSERT_EQ(second.at("functions").as_array().size(), 2U);
    EXPECT_EQ(second.at("functions").as_array()[1].as_object().at("symbol").as_string(), "main");
    const auto flat = json::parse(report_json(unrooted(), {.chains = Chains::kHide})).as_object();
    EXPECT_FALSE(flat.at("events").as_array().at(0).as_object().contains("call_chains"));
}

TEST(ReportChains, FocusShowsBothSides) {
    const auto text = report_text(rooted(), {.focus = "scan"});
    EXPECT_THAT(text, HasSubstr("self 10.00 % of the event (10 samples), with its callees 40.00 % (40 samples)"));
    EXPECT_THAT(text, HasSubstr("100.00       40  ← main\n"));
    EXPECT_THAT(text, HasSubstr("25.00       10  itself\n"));
    EXPECT_THAT(text, HasSubstr("75.00       30  → copy\n"));
    EXPECT_THAT(text, Not(HasSubstr("self %")));
    EXPECT_THAT(report_text(rooted(), {.focus = "scam"}), HasSubstr("--focus scam matches no function; there is scan"));
    const auto report = json::parse(report_json(rooted(), {.focus = "scan"})).as_object();
    EXPECT_EQ(report.at("focus").as_array().at(0).as_object().at("total_samples").to_number<int>(), 40);
    const auto missing = json::parse(report_json(rooted(), {.focus = "scam"})).as_object();
    EXPECT_TRUE(missing.at("focus").as_array().at(0).is_null());
    EXPECT_THAT(std::string(missing.at("warnings").as_array().at(0).as_string()), HasSubstr("matches no function"));
}

TEST(ReportChains, GroupsReplaceTheTables) {
    const auto text = report_text(rooted(), {.by = {GroupKey::kSymbol, GroupKey::kComm}});
    EXPECT_THAT(text, HasSubstr("  90.00       90  copy\n  90.00       90    app\n  10.00       10  scan\n"));
    EXPECT_THAT(text, Not(HasSubstr("self %")));
    EXPECT_THAT(report_text(rooted(), {.by = {GroupKey::kPid}}), HasSubstr("samples were not told apart by pid"));
    const auto report = json::parse(report_json(rooted(), {.top = 0, .by = {GroupKey::kSymbol}})).as_object();
    const auto& by = report.at("events").as_array().at(0).as_object().at("by").as_object();
    EXPECT_EQ(by.at("rows").as_array().at(0).as_object().at("symbol").as_string(), "copy");
}

TEST(ReportChains, WhatAGroupLeavesOutIsCounted) {
    ProfileMaker maker;
    for (int i = 1; i <= 6; ++i) maker.add("f" + std::to_string(i), 10, {.comm = "app"});
    const auto text = report_text(maker.build(), {.top = 4, .by = {GroupKey::kSymbol}});
    EXPECT_THAT(text, HasSubstr("33.33       20  … 2 more\n"));
}

TEST(ReportChains, LimitsLeaveOutRows) {
    const auto text = report_text(rooted(), {.total = ReportOptions::Total::kHide, .percent_limit = 20});
    EXPECT_THAT(text, HasSubstr("self %  samples  DSO  function\n   90.00       90  app  copy\n  … 1 more function\n"));
    EXPECT_THAT(text, HasSubstr("paths under 20 % left out"));
    EXPECT_THAT(text, Not(HasSubstr("scan  app")));
}

TEST(ReportChains, HostileNamesStayText) {
    const auto profile = ProfileMaker().add("main;\x1b[2Jevil", 9).build();
    EXPECT_EQ(report_text(profile, {}).find('\x1b'), std::string::npos);
    EXPECT_EQ(report_text(profile, {.focus = "*"}).find('\x1b'), std::string::npos);
    EXPECT_EQ(report_text(profile, {.by = {GroupKey::kSymbol}}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace perfvigil::analyzer
