// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/notify.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "tests/support/daemon_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::daemon {
namespace {

// The service manager's end.
class FakeManager {
public:
    explicit FakeManager(const std::string& address) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
        sockaddr_un name{};
        name.sun_family = AF_UNIX;
        std::memcpy(name.sun_path, address.data(), address.size());
        if (address.front() == '@') name.sun_path[0] = '\0';
        const auto length = offsetof(sockaddr_un, sun_path) + address.size() + (address.front() == '@' ? 0 : 1);
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&name), static_cast<socklen_t>(length)), 0);
    }
    // The next datagram; empty: there is none.
    std::string next() {
        std::array<char, 512> buffer{};
        const auto n = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
        return n <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(n));
    }

private:
    UniqueFd fd_;
};

void expect_whole_life(const std::string& address) {
    FakeManager manager(address);
    const Notifier notifier(address);
    notifier.ready("recording 2 CPUs");
    notifier.alive();
    notifier.reloading(monotonic_from_ns(5'000'000));
    notifier.status("a\nREADY=0");
    notifier.stopping();
    EXPECT_EQ(manager.next(), "READY=1\nSTATUS=recording 2 CPUs");
    EXPECT_EQ(manager.next(), "WATCHDOG=1");
    EXPECT_EQ(manager.next(), "RELOADING=1\nMONOTONIC_USEC=5000");
    EXPECT_EQ(manager.next(), "STATUS=a\\x0aREADY=0");
    EXPECT_EQ(manager.next(), "STOPPING=1\nSTATUS=storing the last window");
    EXPECT_EQ(manager.next(), "");
}

TEST(NotifierTest, SpeaksToAPath) {
    const test::TempFolder folder;
    expect_whole_life(folder / "notify");
}

TEST(NotifierTest, SpeaksToAnAbstractName) {
    expect_whole_life("@perfvigil-notify-test-" + std::to_string(::getpid()));
}

// sd_notify(3) knows absolute paths and abstract names. A file of that name in the working folder is somebody else's.
TEST(NotifierTest, SaysNothingToAnythingElse) {
    const auto before = std::filesystem::current_path();
    const test::TempFolder folder;
    std::filesystem::current_path(folder.path());
    FakeManager stranger("relative");
    for (const std::string& address : {std::string(), std::string("relative"), std::string("@"),
                                       std::string("/nonexistent/notify"), "/" + std::string(200, 'x')}) {
        const Notifier notifier(address);
        notifier.ready("x");
        notifier.alive();
        EXPECT_EQ(stranger.next(), "") << address;
    }
    std::filesystem::current_path(before);
}

TEST(NotifierTest, SurvivesAManagerThatDoesNotRead) {
    const test::TempFolder folder;
    FakeManager manager(folder / "notify");
    const Notifier notifier(folder / "notify");
    for (int i = 0; i < 10000; ++i) notifier.alive();
    EXPECT_EQ(manager.next(), "WATCHDOG=1");  // what had room is there, the rest was let go
}

TEST(NotifierTest, ReadsAndClearsTheEnvironment) {
    const test::TempFolder folder;
    FakeManager manager(folder / "notify");
    ::setenv("NOTIFY_SOCKET", (folder / "notify").c_str(), 1);
    ::setenv("WATCHDOG_USEC", "30000000", 1);
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    const auto notifier = Notifier::from_environment();
    EXPECT_EQ(notifier.watchdog(), Nanoseconds(std::chrono::seconds(30)));
    EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
    notifier.alive();
    EXPECT_EQ(manager.next(), "WATCHDOG=1");

    ::setenv("WATCHDOG_PID", "1", 1);
    EXPECT_FALSE(Notifier::from_environment().watchdog());
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    for (const auto* bad : {"", "0", "-5", "30s"}) {
        ::setenv("WATCHDOG_USEC", bad, 1);
        EXPECT_FALSE(Notifier::from_environment().watchdog()) << bad;
    }
    ::unsetenv("WATCHDOG_USEC");
    ::unsetenv("WATCHDOG_PID");
}

}  // namespace
}  // namespace perfvigil::daemon
