// SPDX-License-Identifier: GPL-2.0-or-later
// A program on a real FUSE file system whose server stops answering while the program runs: nobody who records or
// reports waits for it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "analyzer/symbols/opener.hpp"
#include "base/fd.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

double seconds_of(const std::function<void()>& work) {
    const auto began = std::chrono::steady_clock::now();
    work();
    return Seconds(std::chrono::steady_clock::now() - began).count();
}

class FuseMount : public testing::Test {
protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "needs root for mount(2)";
        if (::access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "there is no /dev/fuse";
        std::filesystem::create_directory(mount_);
        server_.emplace("fuse_serve", std::vector<std::string>{mount_, test::client_path("spin")});
        if (!within(5s, [&] { return ::access(program_.c_str(), X_OK) == 0; })) {
            GTEST_SKIP() << "a FUSE file system cannot be mounted here";
        }
    }
    // SIGTERM unmounts it; what still waits for an answer gets an error.
    void TearDown() override {
        if (server_) (void)server_->stop();
    }
    static bool within(std::chrono::seconds limit, const std::function<bool()>& holds) {
        const auto end = std::chrono::steady_clock::now() + limit;
        while (!holds()) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::sleep_for(20ms);
        }
        return true;
    }
    // From now on whoever looks at the mount waits: a child that does proves it.
    void hang() {
        ASSERT_EQ(::kill(server_->pid(), SIGUSR1), 0);
        test::Client witness("/usr/bin/stat", {program_});
        std::this_thread::sleep_for(500ms);
        const auto state = read_file("/proc/" + std::to_string(witness.pid()) + "/stat").value();
        ASSERT_EQ(state.find(") Z"), std::string::npos) << "the file system still answers";
    }

    test::TempFolder folder_;
    std::string mount_ = folder_ / "mount";
    std::string program_ = mount_ + "/program";
    std::optional<test::Client> server_;  // ends with the test, and every request with it
};

TEST_F(FuseMount, IsToldByTheMountsAndNotAsked) {
    test::Client load(program_, {"60"});
    struct stat status{};
    ASSERT_EQ(::stat(program_.c_str(), &status), 0);
    collector::Dso dso{.id = collector::DsoId{1}, .path = program_, .build_id = {}};
    dso.inode = status.st_ino;
    const test::ManualClock clock;
    hang();
    // Through the process, and without one.
    for (const Pid pid : {Pid{load.pid()}, Pid{}}) {
        analyzer::Opener opener({}, clock);
        Result<analyzer::OpenedFileRef> opened;
        EXPECT_LT(seconds_of([&] { opened = opener.open_dso(dso, pid); }), 1) << pid.value;
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported) << opened.error().message;
        EXPECT_EQ(opener.counters().remote, 1U);
    }
}

TEST_F(FuseMount, DelaysNoRecordingAndNoReport) {
    test::Client load(program_, {"60"});
    const auto capture = folder_ / "x.data";
    std::thread hangs([&] {
        std::this_thread::sleep_for(1s);
        hang();
    });
    const double recording = seconds_of([&] {
        (void)test::output_of(test::kPerfvigil,
                              {"record", "-a", "-F", "199", "-e", "cpu-clock", "-d", "3s", "-o", capture});
    });
    hangs.join();
    EXPECT_LT(recording, 6);
    std::string text;
    EXPECT_LT(seconds_of([&] { text = test::output_of(test::kPerfvigil, {"report", capture}); }), 5);
    EXPECT_NE(text.find(program_ + ": on a network or FUSE file system"), std::string::npos) << text;
    // What is not opened is still counted, as its own.
    const auto report = test::ReportView::of_perfvigil({"report", "--json", "--by", "dso", capture});
    EXPECT_NE(boost::json::serialize(report.root()).find(program_), std::string::npos);
}

TEST_F(FuseMount, DelaysNoWindowAndNoEndOfTheDaemon) {
    if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    test::DaemonProcess daemon(folder_);
    daemon.start({});
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    test::Client load(program_, {"60"});
    hang();
    test::Client later(test::client_path("spin"), {"60"});
    EXPECT_LT(seconds_of([&] { EXPECT_TRUE(daemon.wait_windows(2)) << daemon.log(); }), 15);
    EXPECT_NE(daemon.get("/v1/windows/latest/report").body.size(), 0U);
    daemon.signal(SIGTERM);
    const auto ended = daemon.wait(5s);
    ASSERT_TRUE(ended) << "it still runs";
    EXPECT_EQ(*ended, 0);
}

}  // namespace
}  // namespace perfvigil
