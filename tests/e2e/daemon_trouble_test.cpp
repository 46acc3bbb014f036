// SPDX-License-Identifier: GPL-2.0-or-later
// What a daemon says, and does, where something is missing: one clear line with the way out, and it starts where it
// can.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/fd.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_process.hpp"

namespace perfvigil {
namespace {

using std::chrono::seconds;
using test::DaemonProcess;
using testing::AllOf;
using testing::HasSubstr;

class DaemonTrouble : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    }
    // How often the log holds this.
    std::size_t times_logged(const std::string& text) const {
        const auto log = daemon.log();
        std::size_t count = 0;
        for (auto at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++count;
        return count;
    }
    // Reasons in /v1/status.
    std::vector<std::string> degraded() const {
        std::vector<std::string> reasons;
        const auto status = daemon.get_json("/v1/status");
        for (const auto& one : status.at("degraded").as_array()) {
            reasons.emplace_back(one.at("reason").as_string());
        }
        return reasons;
    }
    bool is_degraded(const std::string& reason) const {
        const auto reasons = degraded();
        return std::ranges::find(reasons, reason) != reasons.end();
    }

    test::TempFolder folder;
    DaemonProcess daemon{folder};
};

TEST_F(DaemonTrouble, ReadOnlyStore) {
    // A file system that is read-only where mounting is allowed, else a folder that cannot be one.
    const std::string store = folder / "readonly";
    std::filesystem::create_directories(store);
    const bool mounted = ::mount("none", store.c_str(), "tmpfs", MS_RDONLY, nullptr) == 0;
    if (!mounted) {
        std::filesystem::remove(store);
        test::spill(store, "");
    }
    daemon.start({.slice = "1s", .window = "1s", .store = store});
    EXPECT_TRUE(daemon.wait_ready()) << daemon.log();
    EXPECT_TRUE(daemon.wait_until([&] { return is_degraded("store"); })) << daemon.log();
    // The latest windows are there, from memory.
    EXPECT_TRUE(daemon.wait_until([&] { return daemon.get("/v1/windows/latest/report").status == 200; }));
    EXPECT_TRUE(daemon.wait_until([&] { return daemon.get_json("/v1/windows").at("total").to_number<int>() >= 3; }));
    EXPECT_FALSE(daemon.get_json("/v1/windows").at("windows").as_array().at(0).at("stored").as_bool());
    EXPECT_THAT(daemon.get("/metrics").body, HasSubstr("perfvigil_degraded{reason=\"store\"} 1"));
    EXPECT_EQ(times_logged("degraded reason=store "), 1U) << daemon.log();
    EXPECT_THAT(daemon.log(), HasSubstr(mounted ? "Read-only file system" : "store.dir must be a folder"));
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(seconds(5)), 0);
    if (mounted) ::umount2(store.c_str(), MNT_DETACH);
}

TEST_F(DaemonTrouble, OccupiedPortAndSocket) {
    UniqueFd holder(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ASSERT_EQ(::bind(holder.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(holder.get(), 1), 0);
    ASSERT_EQ(::getsockname(holder.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    const auto port = std::to_string(ntohs(address.sin_port));

    daemon.start({.slice = "1s", .window = "1s", .listen = "127.0.0.1:" + port});
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    EXPECT_TRUE(is_degraded("listen"));
    EXPECT_EQ(times_logged("degraded reason=listen"), 1U);
    EXPECT_THAT(daemon.log(), AllOf(HasSubstr("Address already in use"), HasSubstr("sport = :" + port)));
    EXPECT_EQ(daemon.get("/metrics").status, 200U) << "metrics are on the control socket all the same";

    // A second daemon must not take the first one's socket.
    test::TempFolder other;
    DaemonProcess second(other);
    second.write_config({});
    std::filesystem::remove(other / "control.sock");
    test::spill(other / "perfvigil.yaml", test::slurp(daemon.config()));
    second.start({.slice = ""});
    EXPECT_EQ(second.wait(seconds(10)), 1);
    EXPECT_THAT(second.log(), HasSubstr("another perfvigild listens there; stop it or set sockets.control"));
    EXPECT_EQ(daemon.get("/healthz").status, 200U);

    // The port heals by itself.
    holder.reset();
    EXPECT_TRUE(daemon.wait_until([&] { return !is_degraded("listen"); })) << daemon.log();
    EXPECT_EQ(daemon.get_tcp("/metrics").status, 200U);
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(seconds(5)), 0);
}

TEST_F(DaemonTrouble, BadConfigurationNamesEveryFault) {
    test::spill(daemon.config(),
                "recording:\n  frequncy: 99Hz\nbudget: {cpu: 1}\nlisten: {address: \"0.0.0.0:9909\"}\n");
    daemon.start({.slice = ""});
    EXPECT_EQ(daemon.wait(seconds(10)), 78);
    const auto file = daemon.config();
    EXPECT_EQ(daemon.log(), file + ":2: recording.frequncy: unknown key, did you mean recording.frequency?\n" + file +
                                ":3: budget.cpu: \"1\" has no percent sign, write 1%\n" + file +
                                ":4: listen.address: 0.0.0.0 can be reached from other hosts, write 127.0.0.1:9909, or "
                                "set listen.allow_remote and listen.token_file\n");
}

TEST_F(DaemonTrouble, MissingRightsAreNamedWithTheRemedy) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to give up rights";
    std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
    daemon.start({.slice = "1s", .window = "1s", .user = 65534});
    EXPECT_EQ(daemon.wait(seconds(10)), 77) << daemon.log();
    EXPECT_THAT(daemon.log(), HasSubstr("CAP_PERFMON"));
    EXPECT_EQ(times_logged("cannot start"), 1U) << daemon.log();
}

TEST_F(DaemonTrouble, CapturesThatCannotBeWritten) {
    test::spill(daemon.captures(), "a file where the folder should be");
    daemon.start({.slice = "1s", .window = "1s"});
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    EXPECT_TRUE(daemon.wait_until([&] { return is_degraded("captures"); })) << daemon.log();
    EXPECT_TRUE(daemon.wait_windows(2)) << "profiles go on";
    EXPECT_EQ(times_logged("degraded reason=captures"), 1U) << daemon.log();
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(seconds(5)), 0);
}

}  // namespace
}  // namespace perfvigil
