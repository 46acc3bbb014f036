// SPDX-License-Identifier: GPL-2.0-or-later
// Windows leave the daemon: to a collector as they come, and as a copy of the store that is read without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/exposition.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/scripted_collector.hpp"

namespace perfvigil {
namespace {

using namespace std::chrono_literals;
using test::ScriptedCollector;
using testing::AllOf;
using testing::HasSubstr;

class ShippingTest : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    }
    double shipped(const std::string& result) const {
        const auto parsed = test::parse_exposition(daemon.get("/metrics").body);
        return parsed ? parsed->sum("perfvigil_shipped_windows_total", {{"result", result}}) : -1;
    }

    test::TempFolder folder;
    test::DaemonProcess daemon{folder};
};

std::string id_of(const ScriptedCollector::Post& post) {
    const std::string name = "X-Perfvigil-Window: ";
    const auto at = post.head.find(name) + name.size();
    return post.head.substr(at, post.head.find('\r', at) - at);
}

TEST_F(ShippingTest, ACollectorGetsEachWindowOnceInItsOrder) {
    ScriptedCollector collector;
    const auto url = "http://127.0.0.1:" + std::to_string(collector.port()) + "/v1development/profiles";
    daemon.start({.slice = "1s", .window = "1s", .extra = "ship: {to: \"" + url + "\", format: pprof}\n"});
    ASSERT_TRUE(daemon.wait_until([&] { return collector.posts().size() >= 2; })) << daemon.log();
    collector.behave(503);
    ASSERT_TRUE(daemon.wait_until([&] { return daemon.is_degraded("ship"); })) << daemon.log();
    const auto windows = daemon.stored_windows().size();
    ASSERT_TRUE(daemon.wait_windows(windows + 2)) << "nobody waits for it";
    collector.behave(200);
    ASSERT_TRUE(daemon.wait_until([&] {
        return !daemon.is_degraded("ship") && shipped("sent") > static_cast<double>(windows + 2);
    })) << daemon.log();
    EXPECT_EQ(shipped("dropped"), 0);
    std::vector<std::string> ids;
    for (const auto& post : collector.posts()) {
        ids.push_back(id_of(post));
        EXPECT_EQ(post.body.substr(0, 2), "\x1f\x8b") << "gzip";
    }
    auto stored = daemon.stored_windows();
    std::ranges::reverse(stored);
    ASSERT_GE(stored.size(), ids.size());
    stored.resize(ids.size());
    EXPECT_EQ(ids, stored);
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(5s), 0);
}

TEST_F(ShippingTest, ACollectorThatHangsHoldsNothingUp) {
    ScriptedCollector collector;
    collector.behave(ScriptedCollector::kHang);
    daemon.start({.slice = "1s",
                  .window = "1s",
                  .extra = "ship: {to: \"http://127.0.0.1:" + std::to_string(collector.port()) + "/\"}\n"});
    ASSERT_TRUE(daemon.wait_windows(3)) << daemon.log();
    EXPECT_EQ(collector.connections(), 1U);
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(5s), 0) << "its end waits for nobody either";
}

TEST_F(ShippingTest, ACopyOfTheStoreIsReadWithoutADaemon) {
    {
        const test::Client load("split70_30", {"60"});
        daemon.start({.slice = "1s", .window = "1s"});
        ASSERT_TRUE(daemon.wait_windows(4)) << daemon.log();
    }
    const auto latest = daemon.stored_windows().front();
    const auto before = test::output_of(test::kPerfvigil, {"report", "--socket", daemon.socket(), latest});
    daemon.signal(SIGTERM);
    ASSERT_EQ(daemon.wait(5s), 0);
    const auto copy = folder / "copy";
    std::filesystem::copy(daemon.store(), copy);
    std::filesystem::remove(copy + "/index.sqlite");
    const auto run = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin() + 1, {"--store", copy});
        return test::output_of(test::kPerfvigil, arguments);
    };
    EXPECT_EQ(run({"report", latest}), before);
    EXPECT_THAT(run({"windows"}), HasSubstr(latest));
    EXPECT_THAT(run({"report", "--since", "1h"}), HasSubstr("hot_a"));
    EXPECT_THAT(run({"top"}), HasSubstr("s recorded"));
    EXPECT_THAT(run({"top", "--since", "1h"}), HasSubstr("hot_a"));
    const auto& windows = test::DaemonProcess::files(copy, ".profile");
    const auto first = windows.front().substr(0, windows.front().find('.'));
    EXPECT_THAT(run({"diff", first, latest}), HasSubstr("hot_"));
    EXPECT_FALSE(std::filesystem::exists(copy + "/index.sqlite")) << "nothing is written there";
}

}  // namespace
}  // namespace perfvigil
