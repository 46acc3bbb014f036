// SPDX-License-Identifier: GPL-2.0-or-later
// Observations as a whole: their order, what is judged, how reports show them, and that nothing breaks them.
#include "analyzer/observations.hpp"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "analyzer/report.hpp"
#include "analyzer/report/observations.hpp"
#include "base/text.hpp"
#include "tests/support/observed.hpp"
#include "tests/support/random_profile.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> ids(const std::vector<Observation>& observations) {
    std::vector<std::string> found;
    for (const auto& observation : observations) found.push_back(observation.id);
    return found;
}

TEST(Observations, OfAnOrdinaryProfileAreNone) {
    ObservedProfile p;
    p.rest(1000);
    p.cpu(500);
    p.cpu(400);
    p.idle({"default_idle", "do_idle"}, 1100);
    EXPECT_THAT(ids(p.all()), IsEmpty());
    EXPECT_THAT(observe(Profile{}), IsEmpty());
}

TEST(Observations, StandMostSevereFirstThenBestSupported) {
    ObservedProfile p;
    p.rest(700)
        .kernel({"native_queued_spin_lock_slowpath", "_raw_spin_lock", "f"}, 250)  // warning
        .kernel({"do_futex"}, 150, "a")                                            // info
        .kernel({"flush_tlb_mm_range"}, 50, "b")                                   // notice, less
        .kernel({"_raw_spin_unlock_irqrestore", "g"}, 150);                        // notice, more
    EXPECT_THAT(ids(p.all()), ElementsAre("lock_contention", "irq_off_time", "tlb_shootdowns", "futex_storm"));
}

TEST(Observations, AClockIsJudgedBeforeCyclesAndBothBeforeTheRest) {
    ObservedProfile p;
    p.kernel({"osq_lock", "mutex_lock", "f"}, 1000);
    p.profile.events.insert(p.profile.events.begin(), {.name = "page-faults", .samples = 9'000, .weight = 9'000});
    for (auto& sample : p.profile.samples) sample.event = 1;
    EXPECT_THAT(p.find("lock_contention").evidence, HasSubstr("100 % of busy CPU time (10.101 s)"));
    p.profile.events[1] = {.name = "page-faults:u", .samples = 1000, .weight = 1000};
    EXPECT_FALSE(p.fires("lock_contention")) << "page faults under a lock are not time under it";
    p.profile.events[1].name = "cpu_core/cycles:u/";
    EXPECT_THAT(p.find("lock_contention").evidence, HasSubstr("100 % of busy samples (1000 samples)"));
}

TEST(Observations, OfAFilteredProfileSayWhatTheirSharesAreOf) {
    ObservedProfile p;
    p.kernel({"osq_lock", "mutex_lock", "f"}, 1000);
    p.profile.filter = "--comm app";
    EXPECT_THAT(p.find("lock_contention").evidence, HasSubstr("100 % of the selected busy CPU time"));
}

TEST(Observations, EveryOneIsWhole) {
    ObservedProfile p;
    p.profile.events[0].lost = 500;
    p.profile.degraded.push_back({"no_pmu", "", ""});
    p.rest(100).kernel({"osq_lock", "f"}, 50).idle({"poll_idle", "do_idle"}, 100);
    p.cpu(999);
    p.cpu(10);
    EXPECT_GE(p.all().size(), 6U);
    for (const auto& observation : p.all()) {
        EXPECT_THAT(observation.id, testing::MatchesRegex("[a-z_]+"));
        EXPECT_TRUE(observation.evidence.ends_with('.')) << observation.evidence;
        EXPECT_TRUE(observation.meaning.ends_with('.')) << observation.id;
        EXPECT_TRUE(observation.remedy.empty() || observation.remedy.ends_with('.')) << observation.id;
        EXPECT_FALSE(observation.figures.empty()) << observation.id;
    }
}

TEST(Observations, DamagedProfilesNeitherBreakNorGiveOddNumbers) {
    std::mt19937_64 source(20260131);
    for (int i = 0; i < 300; ++i) {
        const auto profile = random_profile(source);
        for (const auto& observation : observe(profile)) {
            EXPECT_TRUE(std::isfinite(observation.at_least)) << observation.id;
            for (const auto& figure : observation.figures) EXPECT_TRUE(std::isfinite(figure.value)) << observation.id;
        }
        const auto text = report_json(profile, {});
        const auto odd = std::min(text.find("NaN"), text.find("nfinity"));
        ASSERT_EQ(odd, std::string::npos) << text.substr(odd < 200 ? 0 : odd - 200, 220);
        EXPECT_TRUE(boost::json::parse(text).as_object().at("observations").is_array());
    }
}

// --- in reports

TEST(ReportText, ObservationsAreSentencesOfThePage) {
    const std::vector<Observation> observations = {{.id = "some_rule",
                                                    .severity = Severity::kNotice,
                                                    .figures = {},
                                                    .evidence = "Ten of twenty words do not fit on this line.",
                                                    .meaning = "It means something.",
                                                    .remedy = "Act."}};
    TextPage page(50);
    write_observations(page, observations);
    EXPECT_EQ(page.take(),
              "\nObservations\n"
              "  notice: some_rule: Ten of twenty words do not\n"
              "    fit on this line.\n"
              "    It means something.\n"
              "    Do: Act.\n");
    write_observations(page, {});
    EXPECT_EQ(page.take(), "");
}

TEST(ReportText, HostileNamesInObservationsAreHarmless) {
    ObservedProfile p;
    p.rest(900).kernel({"osq_lock", "\x1b[2Jevil\n"}, 100);
    const auto text = report_text(p.profile, {});
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_THAT(text, HasSubstr("wanted by \\x1b[2Jevil\\x0a"));
}

TEST(ReportJson, ObservationsCarryTheirFigures) {
    ObservedProfile p;
    p.rest(900).kernel({"osq_lock", "mutex_lock", "f\xff"}, 100);
    const auto report = boost::json::parse(report_json(p.profile, {}));
    const auto& rows = report.as_object().at("observations").as_array();
    ASSERT_EQ(rows.size(), 1U);
    const auto& row = rows[0].as_object();
    EXPECT_EQ(row.at("id").as_string(), "lock_contention");
    EXPECT_EQ(row.at("severity").as_string(), "notice");
    const auto& share = row.at("figures").as_array().at(0).as_object();
    EXPECT_EQ(share.at("name").as_string(), "share");
    EXPECT_DOUBLE_EQ(share.at("value").to_number<double>(), 0.1);
    EXPECT_FALSE(share.contains("of"));
    EXPECT_EQ(row.at("figures").as_array().back().as_object().at("of").as_string(), "f\\xff");
}

}  // namespace
}  // namespace perfvigil::analyzer
