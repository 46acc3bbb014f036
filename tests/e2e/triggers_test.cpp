// SPDX-License-Identifier: GPL-2.0-or-later
// Captures from before the trigger: frozen by a person, and by a rule that a real load makes true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/text.hpp"
#include "base/time.hpp"
#include "collector/blocked_child.hpp"
#include "daemon/capture_files.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/exposition.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"

namespace perfvigil {
namespace {

using namespace std::chrono_literals;
using test::Client;
using test::ReportView;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class TriggersTest : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    }
    void start(const std::string& triggers = "") {
        daemon.start({.slice = "1s",
                      .window = "2s",
                      .capturing = ", age: 2s",
                      .extra = "budget: {cpu: 100%, captures: 100%}\n" + triggers});
        ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    }
    std::string perfvigil(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin() + 1, {"--socket", daemon.socket()});
        return test::output_of(test::kPerfvigil, arguments);
    }
    double metric(const std::string& name, const std::string& rule) const {
        const auto parsed = test::parse_exposition(daemon.get("/metrics").body);
        return parsed ? parsed->value("perfvigil_" + name, {{"rule", rule}}).value_or(-1) : -1;
    }
    boost::json::array frozen() const { return daemon.get_json("/v1/frozen").at("frozen").as_array(); }
    std::string folder_of(const boost::json::value& one) const {
        return daemon.captures() + "/frozen/" + std::string(one.at("id").as_string());
    }
    // Names of its capture files; empty while one is still recorded.
    static std::vector<std::string> whole_files(const boost::json::value& one) {
        std::vector<std::string> names;
        for (const auto& file : one.at("files").as_array()) {
            const std::string name(file.at("name").as_string());
            if (name.ends_with(".partial")) return {};
            if (name.ends_with(".perf.data")) names.push_back(name);
        }
        return names;
    }
    // As stock perf and as we read it.
    static std::uint64_t perf_samples(const std::string& file) {
        const auto text = test::output_of("/usr/bin/perf", {"script", "-f", "-i", file, "-F", "event"});
        std::uint64_t lines = 0;
        for (const auto line : split(text, '\n')) lines += trim(line).empty() ? 0 : 1;
        return lines;
    }
    static std::uint64_t our_samples(const std::string& file) {
        const ReportView report(test::output_of(test::kPerfvigil, {"report", "--json", file}));
        std::uint64_t sum = 0;
        for (const auto& event : report.root().at("events").as_array()) {
            sum += event.at("samples").to_number<std::uint64_t>();
        }
        return sum;
    }

    test::TempFolder folder;
    test::DaemonProcess daemon{folder};
};

TEST_F(TriggersTest, ARuleKeepsWhatWasBeforeItAndLooksCloser) {
    // Of the busy time, so that whatever else runs here does not make it true.
    start(
        "triggers: {rules: [hot when function hot_a > 0.5% for 2s], last: 30s, "
        "capture: {duration: 2s, frequency: 499Hz}}\n");
    std::this_thread::sleep_for(4s);
    const auto before = system_clock().wall();
    {
        const Client load("split70_30", {"60"});
        ASSERT_TRUE(daemon.wait_until([&] { return metric("triggers_fired_total", "hot") == 1; })) << daemon.log();
        ASSERT_TRUE(daemon.wait_until([&] {
            const auto all = frozen();
            return all.size() == 1 && all[0].as_object().contains("captured") && !whole_files(all[0]).empty();
        })) << daemon.log();
    }
    const auto one = frozen()[0];
    EXPECT_THAT(std::string(one.at("id").as_string()), EndsWith("-hot"));
    EXPECT_EQ(one.at("reason").as_string(), "rule");
    EXPECT_EQ(one.at("rule").as_string(), "hot");
    EXPECT_GT(one.at("evidence").at("value").to_number<double>(), 0.005);
    EXPECT_EQ(one.at("evidence").at("limit").to_number<double>(), 0.005);
    EXPECT_GE(one.at("evidence").at("held_seconds").to_number<double>(), 1.9);
    EXPECT_THAT(std::string(one.at("captured").as_string()), StartsWith("complete; "));

    auto files = whole_files(one);
    ASSERT_EQ(std::ranges::count(files, "triggered.perf.data"), 1);
    std::erase(files, "triggered.perf.data");
    ASSERT_GE(files.size(), 2U);
    EXPECT_LT(daemon::time_in_name(files.front()).value(), before - 1s) << "nothing from before the load";
    for (const auto& name : files) {
        const auto path = folder_of(one) + "/" + name;
        const auto samples = our_samples(path);
        EXPECT_GT(samples, 0U) << name;
        EXPECT_EQ(perf_samples(path), samples) << name;
    }
    const ReportView last(
        test::output_of(test::kPerfvigil, {"report", "--json", "--top", "0", folder_of(one) + "/" + files.back()}));
    EXPECT_GT(last.function("cpu-clock", "hot_a", "self_samples"), 0U) << "the load itself is in the last of them";

    const auto triggered = folder_of(one) + "/triggered.perf.data";
    EXPECT_GT(perf_samples(triggered), 0U);
    const ReportView closer(test::output_of(test::kPerfvigil, {"report", "--json", "--top", "0", triggered}));
    EXPECT_GT(closer.function("cpu-clock", "hot_a", "self_samples"), 0U);
    EXPECT_EQ(closer.root().at("events").at(0).at("rate").to_number<double>(), 499);
    EXPECT_EQ(our_samples(folder_of(one) + "/triggered.profile"), our_samples(triggered));
    // Metrics are published with the next slice.
    EXPECT_TRUE(daemon.wait_until([&] {
        const auto parsed = test::parse_exposition(daemon.get("/metrics").body);
        return parsed && parsed->sum("perfvigil_captures_total", {{"trigger", "rule"}, {"result", "complete"}}) == 1 &&
               parsed->value("perfvigil_store_bytes", {{"kind", "frozen"}}).value_or(0) > 0;
    })) << daemon.log();

    // Its pause: the same again does nothing more.
    std::this_thread::sleep_for(3s);
    {
        const Client again("split70_30", {"60"});
        ASSERT_TRUE(daemon.wait_until([&] { return metric("triggers_suppressed_total", "hot") == 1; })) << daemon.log();
    }
    EXPECT_EQ(metric("triggers_fired_total", "hot"), 1);
    EXPECT_EQ(frozen().size(), 1U);

    // The window in which it came true says so.
    std::string notes;
    for (const auto& id : daemon.stored_windows()) notes += daemon.get("/v1/windows/" + id + "/report?width=0").body;
    EXPECT_THAT(notes, HasSubstr("Rule hot came true at "));
    EXPECT_THAT(perfvigil({"captures"}), AllOf(HasSubstr("rule hot: hot_a took, of the busy time,"),
                                               HasSubstr("triggered.perf.data: complete; ")));
}

TEST_F(TriggersTest, APersonFreezesAndThaws) {
    start();
    std::this_thread::sleep_for(3s);
    const auto printed = perfvigil({"freeze", "--label", "slow 'logins'", "--last", "10s"});
    const auto id = std::string(printed.substr(0, printed.find('\n')));
    ASSERT_TRUE(daemon.wait_until([&] { return frozen().size() == 1 && !whole_files(frozen()[0]).empty(); }))
        << printed << daemon.log();
    const auto one = frozen()[0];
    EXPECT_EQ(std::string(one.at("id").as_string()), id);
    EXPECT_EQ(one.at("label").as_string(), "slow 'logins'");
    EXPECT_THAT(std::string(one.at("who").as_string()), StartsWith("uid "));
    EXPECT_THAT(printed, HasSubstr(folder_of(one) + "/"));
    for (const auto& name : whole_files(one)) EXPECT_GT(our_samples(folder_of(one) + "/" + name), 0U) << name;
    EXPECT_THAT(perfvigil({"captures"}), AllOf(HasSubstr(id), HasSubstr("slow 'logins'; uid ")));
    EXPECT_THAT(daemon.log(), HasSubstr("POST /v1/frozen?last=10s&label="));
    ASSERT_TRUE(daemon.wait_until([&] {
        std::string notes;
        for (const auto& window : daemon.stored_windows()) {
            notes += daemon.get("/v1/windows/" + window + "/report?width=0").body;
        }
        return notes.contains(id + ": slow 'logins'");
    }));

    // A restart finds it again, and what a killed daemon left of the file at hand is there too.
    daemon.signal(SIGKILL);
    ASSERT_EQ(daemon.wait(5s), -SIGKILL);
    start();
    ASSERT_TRUE(daemon.wait_until([&] { return frozen().size() == 1; }));
    perfvigil({"thaw", id});
    EXPECT_TRUE(frozen().empty());
    EXPECT_FALSE(std::filesystem::exists(daemon.captures() + "/frozen/" + id));
    Client twice(test::kPerfvigil, {"thaw", "--socket", daemon.socket(), id});
    (void)twice.output();
    EXPECT_EQ(collector::exit_code_of(twice.exit_status()), 2);
    Client nothing(test::kPerfvigil, {"thaw", "--socket", daemon.socket(), "../../etc"});
    (void)nothing.output();
    EXPECT_EQ(collector::exit_code_of(nothing.exit_status()), 2);
}

}  // namespace
}  // namespace perfvigil
