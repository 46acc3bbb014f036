// SPDX-License-Identifier: GPL-2.0-or-later
// This host under a light load, observed: nothing to warn of, and what its recording lacks is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/support/client.hpp"
#include "tests/support/live_recording.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

namespace json = boost::json;
using test::Client;
using testing::HasSubstr;

const json::object* find(const json::array& observations, std::string_view id) {
    for (const auto& row : observations) {
        if (row.as_object().at("id").as_string() == id) return &row.as_object();
    }
    return nullptr;
}

class QuietHost : public testing::Test {
protected:
    static void SetUpTestSuite() {
        if (!test::why_not_recordable().empty()) return;
        Client load("busy_load", {"0", "20", "60"});
        Client record(test::kPerfvigil, {"record", "-a", "-d", "5s", "-o", capture()});
        (void)record.output();
        Client report(test::kPerfvigil, {"report", "--json", capture()});
        report_ = json::parse(report.output()).as_object();
    }
    void SetUp() override {
        if (const auto why = test::why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    }
    static std::string capture() { return folder_ / "quiet.perf.data"; }
    static const json::array& observations() { return report_.at("observations").as_array(); }

    static inline const test::TempFolder folder_;
    static inline json::object report_;
};

TEST_F(QuietHost, GivesNoWarning) {
    for (const auto& row : observations()) {
        EXPECT_NE(row.as_object().at("severity").as_string(), "warning") << json::serialize(row);
    }
}

TEST_F(QuietHost, WithoutAPmuThatIsANotice) {
    bool missing = false;
    for (const auto& row : report_.at("degraded").as_array()) {
        missing |= row.as_object().at("reason").as_string() == "no_pmu";
    }
    const auto* found = find(observations(), "no_pmu");
    ASSERT_EQ(found != nullptr, missing);
    if (found != nullptr) {
        EXPECT_EQ(found->at("severity").as_string(), "notice");
    }
}

TEST_F(QuietHost, IsNotCalledSaturatedOrUneven) {
    for (const auto& cpu : report_.at("cpus").as_array()) {
        constexpr double kMuch = 0.6;  // the load takes 20 % of CPU 0
        const double busy = cpu.as_object().at("busy").to_number<double>();
        if (busy > kMuch) GTEST_SKIP() << "needs a quiet host: others kept a CPU " << busy << " busy";
    }
    EXPECT_EQ(find(observations(), "cpus_saturated"), nullptr);
    EXPECT_EQ(find(observations(), "cpus_uneven"), nullptr);
}

TEST_F(QuietHost, TextHasTheSameObservations) {
    Client report(test::kPerfvigil, {"report", capture()});
    const auto text = report.output();
    for (const auto& row : observations()) {
        EXPECT_THAT(text, HasSubstr(std::string(row.as_object().at("id").as_string()) + ": "));
    }
}

}  // namespace
}  // namespace perfvigil
