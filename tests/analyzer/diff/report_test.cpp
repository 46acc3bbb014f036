// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/diff/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/support/diff_profiles.hpp"

namespace perfvigil::analyzer {
namespace {

using test::counted_profile;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class DiffReportTest : public testing::Test {
protected:
    static test::SliceCounts steady(std::vector<std::uint64_t> counts, std::size_t slices = 12) {
        return {slices, counts};
    }
    static std::vector<Diff> diffs(const Profile& before, const Profile& after, DiffBy by = DiffBy::kFunction) {
        auto made = compare(before, after, {.event = {}, .by = by});
        if (!made) throw std::runtime_error(made.error().message);
        return std::move(*made);
    }
    Profile before = counted_profile(steady({70, 30, 0}), {.id = "before"});
    Profile after = counted_profile(steady({50, 30, 20}), {.id = "after"});
};

TEST_F(DiffReportTest, TextSaysWhatChanged) {
    const auto text = diff_text(diffs(before, after), {.top = 25, .width = 0});
    EXPECT_THAT(text, HasSubstr("perfvigil diff: after against before\n"));
    EXPECT_THAT(text, HasSubstr("before before: 1200 samples = 12.121 s at 99 Hz, in 60.0 s of 1 CPU\n"));
    EXPECT_THAT(text, HasSubstr("2 of 3 functions changed"));
    EXPECT_THAT(text, HasSubstr("-20.00"));
    EXPECT_THAT(text, HasSubstr("new"));
    EXPECT_THAT(text, HasSubstr("No more than chance can make:"));
    EXPECT_THAT(text, HasSubstr("The smallest change that would have shown, four times in five: "));
    EXPECT_THAT(text, HasSubstr("Intervals hold what varied between 12 and 12 slices"));
    EXPECT_THAT(text, Not(HasSubstr("Nothing changed")));
}

TEST_F(DiffReportTest, NothingIsAnAnswer) {
    const auto text = diff_text(diffs(before, before), {.top = 25, .width = 0});
    EXPECT_THAT(text, HasSubstr("Nothing changed that these samples could show (2 functions judged together"));
    EXPECT_THAT(text, Not(HasSubstr("-0.00 ")));
    const auto tiny = counted_profile(steady({0, 1}, 6));
    EXPECT_THAT(diff_text(diffs(tiny, tiny), {}), HasSubstr("Nothing to judge: no function has 10 samples"));
}

TEST_F(DiffReportTest, SamplingErrorOnlyIsSaid) {
    const auto few = counted_profile(steady({70, 30}, 3), {.id = "few"});
    EXPECT_THAT(diff_text(diffs(few, few), {}), HasSubstr("Intervals hold the sampling error only: few has 3 slices"));
}

TEST_F(DiffReportTest, ForeignNamesAreEscaped) {
    after.functions[0].name = before.functions[0].name = "evil\x1b[2J";
    after.id = "a\x1b[0m";
    const auto text = diff_text(diffs(before, after), {.top = 25, .width = 0});
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_THAT(text, HasSubstr("evil\\x1b[2J"));
    EXPECT_EQ(diff_json(diffs(before, after), {}).find('\x1b'), std::string::npos);
}

TEST_F(DiffReportTest, TopShortensAndSaysSo) {
    const auto text = diff_text(diffs(before, after), {.top = 1, .width = 0});
    EXPECT_THAT(text, HasSubstr("  … 2 more\n"));
    const auto json = boost::json::parse(diff_json(diffs(before, after), {.top = 1, .width = 0}));
    EXPECT_EQ(json.at("events").at(0).at("rows").as_array().size(), 1U);
    EXPECT_EQ(json.at("events").at(0).at("rows_left_out").to_number<int>(), 2);
}

TEST_F(DiffReportTest, JsonHoldsEverything) {
    const auto json = boost::json::parse(diff_json(diffs(before, after, DiffBy::kTotal), {.top = 0, .width = 0}));
    EXPECT_EQ(json.at("schema").to_number<int>(), 1);
    EXPECT_TRUE(json.at("changed").as_bool());
    const auto& event = json.at("events").at(0).as_object();
    EXPECT_EQ(event.at("by").as_string(), "total");
    EXPECT_EQ(event.at("unit").as_string(), "seconds");
    EXPECT_EQ(event.at("before").at("samples").to_number<int>(), 1200);
    EXPECT_EQ(event.at("callee_shifts").as_array().size(), 1U);  // of main
    const auto& row = event.at("rows").at(0).as_object();
    for (const auto* field : {"name", "dso", "kernel", "samples_before", "samples_after", "share", "absolute", "tested",
                              "false_discovery_rate", "significant"}) {
        EXPECT_TRUE(row.contains(field)) << field;
    }
    const auto& share = row.at("share").as_object();
    EXPECT_NEAR(share.at("change").to_number<double>(),
                share.at("after").to_number<double>() - share.at("before").to_number<double>(), 1e-12);
    EXPECT_LE(share.at("low").to_number<double>(), share.at("change").to_number<double>());
    EXPECT_GE(share.at("high").to_number<double>(), share.at("change").to_number<double>());
}

TEST(DiffRule, Grammar) {
    EXPECT_EQ(parse_diff_rule("regression").value().points, 0);
    EXPECT_DOUBLE_EQ(parse_diff_rule("regression>2%").value().points, 0.02);
    EXPECT_DOUBLE_EQ(parse_diff_rule(" regression > 0.5 % ").value().points, 0.005);
    for (const auto* wrong : {"", "regression>2", "regression<2%", "regression>%", "regression>-1%", "regression>100%",
                              "regression>nan%", "regressions>2%", "improvement", "regression>2%%"}) {
        const auto rule = parse_diff_rule(wrong);
        ASSERT_FALSE(rule) << wrong;
        EXPECT_THAT(rule.error().message, HasSubstr("is no rule: write regression"));
    }
}

TEST_F(DiffReportTest, TheRuleNamesWhatBreaksIt) {
    const auto made = diffs(before, after);
    EXPECT_THAT(broken_by({.points = 0.02}, made),
                ElementsAre(HasSubstr("function_2 in program grew by 20.00 points of cpu-clock (0.00 % to 20.00 %")));
    EXPECT_THAT(broken_by({.points = 0.2}, made), IsEmpty());  // not more than it
    EXPECT_THAT(broken_by({.points = 0}, diffs(after, before)), ElementsAre(HasSubstr("function_0")));
    // As much, but of too few samples to be sure.
    const auto little = diffs(counted_profile(steady({2, 1, 0})), counted_profile(steady({2, 1, 0})));
    EXPECT_THAT(broken_by({.points = 0}, little), IsEmpty());
}

}  // namespace
}  // namespace perfvigil::analyzer
