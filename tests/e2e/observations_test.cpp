// SPDX-License-Identifier: GPL-2.0-or-later
// This host under a light load, observed: nothing to warn of, and what its recording lacks is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <ostream>
#include <string>
#include <vector>

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

// --- programs that cost something besides their own code

struct Cost {
    const char* id;
    std::vector<std::string> command;  // of tests/clients
};
std::ostream& operator<<(std::ostream& out, const Cost& cost) { return out << cost.id; }

class RealCost : public testing::TestWithParam<Cost> {};

// A kernel on PVM (a hypervisor without hardware support) switches interrupts by a call of its own: the clock's ticks
// of a system call's entry arrive in there, and nothing tells them from those of other places.
bool entry_is_hidden(const json::object& report) {
    for (const auto& event : report.at("events").as_array()) {
        for (const auto& row : event.as_object().at("functions").as_array()) {
            if (row.as_object().at("symbol").as_string() == "pvm_irq_enable") return true;
        }
    }
    return false;
}

TEST_P(RealCost, IsObservedInItsRecordingAndNotInAnothers) {
    if (const auto why = test::why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    const test::TempFolder folder;
    const auto observed = [&](const std::vector<std::string>& command) {
        const auto capture = folder / "perf.data";
        std::vector<std::string> words{"record", "-F", "999", "-e", "cpu-clock", "-o", capture, "--"};
        words.push_back(test::client_path(command[0]));
        words.insert(words.end(), command.begin() + 1, command.end());
        Client record(test::kPerfvigil, words);
        (void)record.output();
        Client report(test::kPerfvigil, {"report", "--json", capture});
        return json::parse(report.output()).as_object();
    };
    const auto report = observed(GetParam().command);
    if (GetParam().id == std::string_view("syscall_entry") && entry_is_hidden(report))
        GTEST_SKIP() << "needs a kernel that does not run on PVM";
    const auto& found = report.at("observations").as_array();
    const auto* row = find(found, GetParam().id);
    ASSERT_NE(row, nullptr) << json::serialize(found);
    EXPECT_FALSE(row->at("evidence").as_string().empty());
    static const auto plain = observed({"split70_30", "1"}).at("observations").as_array();
    EXPECT_EQ(find(plain, GetParam().id), nullptr) << json::serialize(plain);
}

INSTANTIATE_TEST_SUITE_P(Clients, RealCost,
                         testing::Values(Cost{"page_faults", {"costs", "faults", "1"}},
                                         Cost{"memory_copies", {"costs", "copies", "1"}},
                                         Cost{"syscall_entry", {"costs", "syscalls", "1"}},
                                         Cost{"futex_storm", {"costs", "futex", "1"}},
                                         Cost{"tlb_shootdowns", {"costs", "shootdowns", "1"}},
                                         Cost{"lost_callers", {"costs", "strings", "1"}},
                                         Cost{"truncated_chains", {"recursion", "200", "1"}}),
                         [](const auto& given) { return std::string(given.param.id); });

}  // namespace
}  // namespace perfvigil
