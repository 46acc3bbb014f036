// SPDX-License-Identifier: GPL-2.0-or-later
// kill -9 at any moment: no completed window is lost, and the capture at hand reads as far as it got.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <thread>

#include "analyzer/profile/codec.hpp"
#include "collector/capture_reader.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_process.hpp"

namespace perfvigil {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::DaemonProcess;

struct NullSink final : collector::RecordSink {
    void on_record(const collector::OrderedRecord&) override {}
    void on_cut(const collector::Cut&) override {}
};

// Samples that a reader finds in a capture, whole or not.
std::uint64_t readable_samples(const std::string& path) {
    auto reader = collector::CaptureReader::open(path);
    if (!reader) return 0;
    NullSink sink;
    while ((*reader)->next_pump()) {
        if (!(*reader)->pump(sink)) break;
    }
    (void)(*reader)->finish(sink);
    return (*reader)->counts().samples;
}

TEST(DaemonKill, LosesNoCompletedWindowAndNoReadableCapture) {
    if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    constexpr int kKills = 10;
    test::TempFolder folder;
    // One seed per run: each run kills at other moments, a failure names its own.
    const auto seed = std::random_device{}();
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> moment(0, 1500);
    std::vector<std::string> completed;
    const test::Client load("split70_30", {"300"});
    for (int i = 0; i < kKills; ++i) {
        DaemonProcess daemon(folder);
        daemon.start({.slice = "1s", .window = "1s"});
        ASSERT_TRUE(daemon.wait_windows(completed.size() + 1)) << "seed " << seed << "\n" << daemon.log();
        // Everything that was complete before is there again.
        auto now = daemon.stored_windows();
        for (const auto& id : completed) {
            EXPECT_NE(std::ranges::find(now, id), now.end()) << id << " is lost after kill " << i << ", seed " << seed;
        }
        std::this_thread::sleep_for(milliseconds(moment(random)));
        now = daemon.stored_windows();
        daemon.signal(SIGKILL);
        ASSERT_EQ(daemon.wait(seconds(5)), -SIGKILL);
        completed = std::move(now);
    }
    EXPECT_GE(completed.size(), static_cast<std::size_t>(kKills));

    for (const auto& name : DaemonProcess::files(folder / "store", ".profile")) {
        const auto text = test::slurp(folder / ("store/" + name));
        EXPECT_TRUE(analyzer::decode_profile(std::as_bytes(std::span(text)))) << name;
    }
    const auto partial = DaemonProcess::files(folder / "captures", ".perf.data.partial");
    EXPECT_EQ(partial.size(), static_cast<std::size_t>(kKills)) << "each kill leaves its capture";
    for (const auto& name : partial) {
        EXPECT_GT(readable_samples(folder / ("captures/" + name)), 0U) << name << ", seed " << seed;
    }

    // A start after all that is an ordinary one.
    DaemonProcess daemon(folder);
    daemon.start({.slice = "1s", .window = "1s"});
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(seconds(5)), 0) << daemon.log();
}

}  // namespace
}  // namespace perfvigil
