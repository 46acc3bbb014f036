// SPDX-License-Identifier: GPL-2.0-or-later
// kill -9 at any moment: no completed window is lost, and the capture at hand reads as far as it got.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "analyzer/profile/codec.hpp"
#include "base/text.hpp"
#include "collector/capture_reader.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/report_view.hpp"

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

// Lines of `perf script` that are samples.
std::uint64_t perf_samples(const std::string& path) {
    const auto text = test::output_of("/usr/bin/perf", {"script", "-f", "-i", path, "-F", "event"});
    std::uint64_t lines = 0;
    for (const auto line : split(text, '\n')) lines += trim(line).empty() ? 0 : 1;
    return lines;
}

TEST(DaemonKill, LosesNoCompletedWindowAndNoReadableCapture) {
    if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    const int kills = std::getenv("PERFVIGIL_LONG") != nullptr ? 50 : 10;
    test::TempFolder folder;
    // One seed per run: each run kills at other moments, a failure names its own.
    const auto seed = std::random_device{}();
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> moment(0, 1500);
    std::vector<std::string> completed;
    const test::Client load("split70_30", {"300"});
    for (int i = 0; i < kills; ++i) {
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
    EXPECT_GE(completed.size(), static_cast<std::size_t>(kills));

    for (const auto& name : DaemonProcess::files(folder / "store", ".profile")) {
        const auto text = test::slurp(folder / ("store/" + name));
        EXPECT_TRUE(analyzer::decode_profile(std::as_bytes(std::span(text)))) << name;
    }

    // A start after all that is an ordinary one, and what each kill left of its capture is a whole file.
    DaemonProcess daemon(folder);
    daemon.start({.slice = "1s", .window = "1s"});
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(seconds(5)), 0) << daemon.log();
    EXPECT_TRUE(DaemonProcess::files(folder / "captures", ".partial").empty());
    const auto whole = DaemonProcess::files(folder / "captures", ".perf.data");
    EXPECT_EQ(whole.size(), static_cast<std::size_t>(kills) + 1) << "each kill leaves its capture, seed " << seed;
    for (const auto& name : whole) {
        const auto path = folder / ("captures/" + name);
        const auto samples = readable_samples(path);
        EXPECT_GT(samples, 0U) << name << ", seed " << seed;
        EXPECT_EQ(perf_samples(path), samples) << name << ", seed " << seed;
    }
}

// What the store tells about all time, each moment once.
struct Kept {
    std::uint64_t samples = 0;
    double seconds = 0;
};
Kept kept(const DaemonProcess& daemon) {
    Kept sum;
    const auto list = daemon.get_json("/v1/windows?since=0&until=4000000000000000000");
    for (const auto& window : list.at("windows").as_array()) {
        sum.samples += window.at("samples").to_number<std::uint64_t>();
        sum.seconds += window.at("duration_seconds").to_number<double>();
    }
    return sum;
}

// With windows of a second that are rolled up and removed all the while: a kill between a roll-up and the end of its
// parts neither loses nor doubles a sample.
TEST(DaemonKill, RollupsNeitherLoseNorDouble) {
    if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    const int kills = std::getenv("PERFVIGIL_LONG") != nullptr ? 50 : 8;
    test::TempFolder folder;
    const auto seed = std::random_device{}();
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> moment(0, 3000);
    const DaemonProcess::Settings settings{.slice = "1s",
                                           .window = "1s",
                                           .storing =
                                               ", windows: {keep: 2s}, rollups: {length: 2s, keep: 6s}, "
                                               "archives: {length: 6s}"};
    const auto begun = std::chrono::steady_clock::now();
    Kept before;
    for (int i = 0; i < kills; ++i) {
        DaemonProcess daemon(folder);
        daemon.start(settings);
        ASSERT_TRUE(daemon.wait_ready()) << "seed " << seed << "\n" << daemon.log();
        auto now = kept(daemon);
        EXPECT_GE(now.samples, before.samples) << "lost after kill " << i << ", seed " << seed;
        std::this_thread::sleep_for(milliseconds(moment(random)));
        now = kept(daemon);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begun;
        EXPECT_LE(now.seconds, elapsed.count() + 1) << "doubled after kill " << i << ", seed " << seed;
        daemon.signal(SIGKILL);
        ASSERT_EQ(daemon.wait(seconds(5)), -SIGKILL);
        before = now;
    }
    EXPECT_GT(before.samples, 0U);
    EXPECT_FALSE(DaemonProcess::files(folder / "store", "-r.profile").empty()) << "nothing was rolled up";
}

}  // namespace
}  // namespace perfvigil
