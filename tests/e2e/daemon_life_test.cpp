// SPDX-License-Identifier: GPL-2.0-or-later
// A daemon on this host's real kernel, from its start to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "analyzer/profile/codec.hpp"
#include "base/fd.hpp"
#include "collector/capture_reader.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_process.hpp"

namespace perfvigil {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::DaemonProcess;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class DaemonLife : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    }
    test::TempFolder folder;
    DaemonProcess daemon{folder};
};

analyzer::Profile stored_profile(const std::string& path) {
    const auto text = test::slurp(path);
    auto profile = analyzer::decode_profile(std::as_bytes(std::span(text)));
    EXPECT_TRUE(profile) << path;
    return profile ? std::move(*profile) : analyzer::Profile{};
}

// The service manager's end of sd_notify.
class Manager {
public:
    explicit Manager(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
        sockaddr_un name{};
        name.sun_family = AF_UNIX;
        std::memcpy(name.sun_path, path.data(), path.size());
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    }
    // Every message so far, joined.
    std::string heard() {
        std::array<char, 1024> buffer{};
        for (ssize_t n = 0; (n = ::recv(fd_.get(), buffer.data(), buffer.size(), 0)) > 0;) {
            text_.append(buffer.data(), static_cast<std::size_t>(n)).append("|");
        }
        return text_;
    }

private:
    UniqueFd fd_;
    std::string text_;
};

TEST_F(DaemonLife, RecordsAnswersAndStoresTheLastWindow) {
    Manager manager(folder / "notify");
    daemon.start({.extra = "metrics: {threshold: 0.1%}\n",
                  .environment = {"NOTIFY_SOCKET=" + folder / "notify", "WATCHDOG_USEC=400000"}});
    test::Client load("split70_30", {"120"});
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    EXPECT_THAT(manager.heard(), AllOf(HasSubstr("READY=1\nSTATUS=profiling kernel|"), HasSubstr("WATCHDOG=1|")));

    // Both doors.
    const auto metrics = daemon.get_tcp("/metrics");
    EXPECT_EQ(metrics.status, 200U);
    EXPECT_THAT(metrics.head, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8"));
    EXPECT_THAT(metrics.body, HasSubstr("perfvigil_build_info{"));
    EXPECT_EQ(daemon.get("/metrics").status, 200U);
    EXPECT_EQ(daemon.get_tcp("/healthz").status, 200U);
    EXPECT_EQ(daemon.get_tcp("/metrics", "evil.example").status, 421U);
    EXPECT_EQ(daemon.get_tcp("/v1/status").status, 403U);
    struct stat status{};
    ASSERT_EQ(::stat(daemon.socket().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0660U);

    const auto state = daemon.get_json("/v1/status");
    EXPECT_EQ(state.at("state").as_string(), "recording");
    EXPECT_TRUE(state.at("ready").as_bool());
    EXPECT_FALSE(state.at("cpus").as_array().empty());
    EXPECT_EQ(state.at("counters").at("dropped_slices").to_number<int>(), 0);

    // Two windows: the second is whole.
    ASSERT_TRUE(daemon.wait_windows(2)) << daemon.log();
    const auto ids = daemon.stored_windows();
    const auto report = daemon.get_json("/v1/windows/" + ids.front() + "/report?format=json");
    EXPECT_EQ(report.at("id").as_string(), ids.front());
    EXPECT_NEAR(report.at("duration_seconds").to_number<double>(), 5, 0.3);
    EXPECT_FALSE(report.at("partial").as_bool());
    EXPECT_THAT(daemon.get("/v1/windows/latest/report").body, HasSubstr("hot_a"));
    EXPECT_EQ(daemon.get("/v1/windows/latest/profile").body.size(),
              test::slurp(daemon.store() + "/" + daemon.stored_windows().front() + ".profile").size());
    EXPECT_TRUE(daemon.wait_until([&] {
        return daemon.get_tcp("/metrics").body.find("function_cpu_seconds_total{function=\"hot_a") != std::string::npos;
    })) << "hotspots become series";

    // Read now: a socket holds few unread messages, and more heartbeats would crowd out the farewell.
    EXPECT_THAT(manager.heard(), Not(HasSubstr("STOPPING=1")));
    // In the middle of a window.
    const auto stopped_at = system_clock().wall();
    daemon.signal(SIGTERM);
    const auto exit = daemon.wait(seconds(5));
    ASSERT_TRUE(exit) << "still running after 5 s\n" << daemon.log();
    EXPECT_EQ(*exit, 0) << daemon.log();
    EXPECT_THAT(manager.heard(), HasSubstr("STOPPING=1"));
    const auto profiles = DaemonProcess::files(daemon.store(), ".profile");
    ASSERT_FALSE(profiles.empty());
    const auto last = stored_profile(daemon.store() + "/" + profiles.back());
    EXPECT_NEAR(std::chrono::duration<double>(last.end - stopped_at).count(), 0, 1.0)
        << "the last window reaches to the stop";
    std::uint64_t samples = 0;
    for (const auto& event : last.events) samples += event.samples;
    EXPECT_GT(samples, 0U);
    EXPECT_NE(::access(daemon.socket().c_str(), F_OK), 0) << "the socket's name is gone";
    EXPECT_THAT(DaemonProcess::files(daemon.captures(), ".partial"), IsEmpty());
    EXPECT_EQ(DaemonProcess::files(daemon.captures(), ".perf.data").size(), 1U);
}

TEST_F(DaemonLife, ReplaysItsOwnCapture) {
    daemon.start({.slice = "1s", .window = "2s"});
    ASSERT_TRUE(daemon.wait_windows(2)) << daemon.log();
    daemon.signal(SIGINT);
    ASSERT_EQ(daemon.wait(seconds(5)), 0) << daemon.log();
    const auto captures = DaemonProcess::files(daemon.captures(), ".perf.data");
    ASSERT_EQ(captures.size(), 1U);
    const std::string capture = daemon.captures() + "/" + captures[0];
    std::uint64_t recorded = 0;
    for (const auto& name : DaemonProcess::files(daemon.store(), ".profile")) {
        for (const auto& event : stored_profile(daemon.store() + "/" + name).events) recorded += event.samples;
    }
    EXPECT_GT(recorded, 0U);

    test::TempFolder other;
    DaemonProcess replay(other);
    replay.start({.slice = "1s", .window = "2s", .arguments = {"--replay", capture, "--speed", "0"}});
    ASSERT_TRUE(replay.wait_until([&] { return replay.get_json("/v1/status")["state"] == "ended"; })) << replay.log();
    // The last window may still be on its way when the source ends.
    ASSERT_TRUE(replay.wait_until([&] {
        std::uint64_t replayed = 0;
        const auto answer = replay.get_json("/v1/windows");
        for (const auto& window : answer.at("windows").as_array()) {
            replayed += window.at("samples").to_number<std::uint64_t>();
        }
        return replayed == recorded;
    })) << "as many samples as were recorded ("
        << recorded << "): " << replay.get("/v1/windows").body;
    const auto state = replay.get_json("/v1/status");
    EXPECT_EQ(state.at("source").as_string(), capture);
    EXPECT_FALSE(state.at("captures").at("enabled").as_bool()) << "a replay is not recorded again";
    EXPECT_TRUE(state.at("ready").as_bool());
    replay.signal(SIGTERM);
    EXPECT_EQ(replay.wait(seconds(5)), 0);
}

TEST_F(DaemonLife, ReloadsOrKeepsWhatItHas) {
    DaemonProcess::Settings settings{.slice = "1s", .window = "5s"};
    daemon.start(settings);
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    const auto frequency = [&] {
        return daemon.get_json("/v1/status").at("events").as_array().at(0).at("frequency_hertz").to_number<int>();
    };
    EXPECT_EQ(frequency(), 99);

    settings.frequency = "49Hz";
    settings.window = "10s";
    daemon.write_config(settings);
    daemon.signal(SIGHUP);
    EXPECT_TRUE(daemon.wait_log("reloaded changed=recording.frequency")) << daemon.log();
    EXPECT_THAT(daemon.log(), HasSubstr("needs a restart to change key=analysis.window"));
    EXPECT_TRUE(daemon.wait_until([&] { return frequency() == 49; })) << "the change takes effect at a slice's end";

    settings.frequency = "fast";
    settings.extra = "nonsense: 1\n";
    daemon.write_config(settings);
    daemon.signal(SIGHUP);
    EXPECT_TRUE(daemon.wait_log("reload refused, the configuration in force is kept")) << daemon.log();
    EXPECT_THAT(daemon.log(), AllOf(HasSubstr("\\\"fast\\\" is not a frequency"), HasSubstr("nonsense: unknown key")));
    EXPECT_EQ(frequency(), 49);
    EXPECT_EQ(daemon.get("/healthz").status, 200U);
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(seconds(5)), 0);
}

}  // namespace
}  // namespace perfvigil
