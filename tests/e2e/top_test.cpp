// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil top on a terminal: it follows the daemon, its size, and leaves the terminal as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <string>

#include "base/fd.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"

namespace perfvigil {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;

// `perfvigil top` with a terminal of its own.
class OnTerminal {
public:
    OnTerminal(const std::string& socket, unsigned short rows, unsigned short columns) {
        const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
        int master = -1;
        pid_ = ::forkpty(&master, nullptr, nullptr, &size);
        if (pid_ == 0) {
            ::execl(test::kPerfvigil, test::kPerfvigil, "top", "--socket", socket.c_str(), nullptr);
            ::_exit(127);
        }
        terminal_ = UniqueFd(master);
        ::tcgetattr(master, &before_);
    }
    ~OnTerminal() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    OnTerminal(const OnTerminal&) = delete;
    OnTerminal& operator=(const OnTerminal&) = delete;

    // Reads until the screen has shown this `times` times since the last call; false: not within the limit.
    bool shows(const std::string& text, int times = 1, std::chrono::seconds limit = 30s) {
        shown_.clear();
        const auto until = steady_clock::now() + limit;
        while (steady_clock::now() < until) {
            pollfd ready{terminal_.get(), POLLIN, 0};
            if (::poll(&ready, 1, 200) > 0 && !read()) return false;
            int found = 0;
            for (auto at = shown_.find(text); at != std::string::npos; at = shown_.find(text, at + 1)) ++found;
            if (found >= times) return true;
        }
        return false;
    }
    void press(const std::string& keys) const {
        EXPECT_EQ(::write(terminal_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    }
    void resize(unsigned short rows, unsigned short columns) const {
        const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
        ::ioctl(terminal_.get(), TIOCSWINSZ, &size);  // the kernel sends SIGWINCH
    }
    void signal(int number) const { ::kill(pid_, number); }
    // Its exit code; what came until then is in shown(). The terminal is looked at before it goes.
    int wait() {
        shown_.clear();
        int status = 0;
        const auto until = steady_clock::now() + 10s;
        while (::waitpid(pid_, &status, WNOHANG) == 0 && steady_clock::now() < until) {
            pollfd ready{terminal_.get(), POLLIN, 0};
            if (::poll(&ready, 1, 50) > 0) (void)read();
        }
        pollfd ready{terminal_.get(), POLLIN, 0};
        while (::poll(&ready, 1, 50) > 0 && read()) {
        }
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    bool restored() const {
        termios now{};
        return ::tcgetattr(terminal_.get(), &now) == 0 && now.c_lflag == before_.c_lflag;
    }
    const std::string& shown() const { return shown_; }

private:
    bool read() {
        std::array<char, 65536> buffer{};
        const auto n = ::read(terminal_.get(), buffer.data(), buffer.size());
        if (n <= 0) return false;
        shown_.append(buffer.data(), static_cast<std::size_t>(n));
        return true;
    }

    pid_t pid_ = 0;
    UniqueFd terminal_;
    termios before_{};
    std::string shown_;
};

class TopTest : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
        daemon.start({.slice = "1s", .window = "2s"});
        ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    }

    test::TempFolder folder;
    test::DaemonProcess daemon{folder};
};

TEST_F(TopTest, FollowsTheDaemonUntilAKey) {
    const test::Client load("split70_30", {"120"});
    OnTerminal top(daemon.socket(), 30, 100);
    ASSERT_TRUE(top.shows("\x1b[?1049h")) << "the other screen";
    EXPECT_TRUE(top.shows("hot_a"));
    EXPECT_TRUE(top.shows("\x1b[?2026l", 3)) << "a frame for each slice";
    EXPECT_THAT(top.shown(), HasSubstr("busy %"));
    EXPECT_THAT(top.shown(), HasSubstr("ledger: lost "));
    EXPECT_THAT(top.shown(), Not(HasSubstr("\x1b[2J"))) << "what is cleared before it is drawn flickers";

    top.resize(5, 40);
    EXPECT_TRUE(top.shows("\x1b[?2026l"));
    const auto frame = top.shown().substr(top.shown().rfind("\x1b[?2026h"));
    EXPECT_LE(std::ranges::count(frame, '\n'), 4) << frame;

    top.press("x");
    EXPECT_TRUE(top.shows("\x1b[?2026l")) << "other keys do nothing";
    top.press("q");
    EXPECT_EQ(top.wait(), 0);
    EXPECT_THAT(top.shown(), HasSubstr("\x1b[?25h\x1b[?1049l"));
    EXPECT_TRUE(top.restored());
}

TEST_F(TopTest, CtrlCAndSignalsLeaveTheTerminalAsItWas) {
    {
        OnTerminal top(daemon.socket(), 24, 80);
        ASSERT_TRUE(top.shows("\x1b[?2026l"));
        EXPECT_FALSE(top.restored());
        top.press("\x03");
        EXPECT_EQ(top.wait(), 0);
        EXPECT_TRUE(top.restored());
    }
    OnTerminal top(daemon.socket(), 24, 80);
    ASSERT_TRUE(top.shows("\x1b[?2026l"));
    top.signal(SIGTERM);
    EXPECT_EQ(top.wait(), 0);
    EXPECT_THAT(top.shown(), HasSubstr("\x1b[?1049l"));
    EXPECT_TRUE(top.restored());
}

TEST_F(TopTest, SurvivesARestartOfTheDaemon) {
    OnTerminal top(daemon.socket(), 24, 250);
    ASSERT_TRUE(top.shows("busy %"));
    daemon.signal(SIGTERM);
    ASSERT_EQ(daemon.wait(10s), 0);
    EXPECT_TRUE(top.shows("no daemon listens there"));
    daemon.start({.slice = "1s", .window = "2s"});
    EXPECT_TRUE(top.shows("\x1b[?2026l", 4));
    EXPECT_TRUE(top.shows("busy %", 2));
    EXPECT_THAT(top.shown().substr(top.shown().rfind("\x1b[?2026h")), Not(HasSubstr("no daemon listens")));
    top.press("q");
    EXPECT_EQ(top.wait(), 0);
}

TEST_F(TopTest, WithoutATerminalItPrintsOnce) {
    ASSERT_TRUE(daemon.wait_windows(1));
    const auto page = test::output_of(test::kPerfvigil, {"top", "--socket", daemon.socket()});
    EXPECT_THAT(page, HasSubstr("s recorded"));
    EXPECT_THAT(page, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace perfvigil
