// SPDX-License-Identifier: GPL-2.0-or-later
// The daemon's doors tried by those who should not get in, and by those who should.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/blocked_child.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"

namespace perfvigil {
namespace {

using namespace std::chrono_literals;
using test::Client;
using testing::HasSubstr;

// Groups that every Debian has and that nobody is in here.
constexpr const char* kControlGroup = "games";
constexpr const char* kReadGroup = "news";

class DoorsTest : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
        if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
        for (const auto* name : {kControlGroup, kReadGroup}) {
            if (::getgrnam(name) == nullptr) GTEST_SKIP() << "there is no group " << name;
        }
        ::chmod((folder / "").c_str(), 0755);
    }
    void start() {
        daemon.start({.sockets = std::string(", group: ") + kControlGroup + ", read: " + read_socket() +
                                 ", read_group: " + kReadGroup,
                      .extra = "budget: {cpu: 100%, captures: 100%}\n"});
        ASSERT_TRUE(daemon.wait_windows(1)) << daemon.log();
    }
    std::string read_socket() const { return folder / "read.sock"; }

    // A command run by nobody, who is in `group` besides (as a supplementary one); what it prints, errors too.
    static std::string as_nobody(const std::string& group, const std::string& command) {
        const auto groups = group.empty() ? std::string("--clear-groups") : "--groups " + group;
        Client client("/bin/sh",
                      {"-c", "setpriv --reuid nobody --regid nogroup " + groups + " -- " + command + " 2>&1"});
        return client.output();
    }
    // Status that curl gets from a socket.
    static std::string curl(const std::string& group, const std::string& socket, const std::string& request) {
        return as_nobody(group, "curl -s -o /dev/null -w '%{http_code}' --unix-socket " + socket + " " + request);
    }
    std::string tcp(const std::string& request) {
        return as_nobody("", "curl -s -o /dev/null -w '%{http_code}' " + request);
    }
    std::string url(const std::string& path) const {
        return "http://127.0.0.1:" + std::to_string(daemon.port()) + path;
    }

    test::TempFolder folder;
    test::DaemonProcess daemon{folder};
};

TEST_F(DoorsTest, SocketsHaveTheirGroupAndModeFromBirth) {
    start();
    struct stat status{};
    ASSERT_EQ(::stat(daemon.socket().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0660U);
    EXPECT_EQ(status.st_gid, ::getgrnam(kControlGroup)->gr_gid);
    ASSERT_EQ(::stat(read_socket().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0660U);
    EXPECT_EQ(status.st_gid, ::getgrnam(kReadGroup)->gr_gid);
}

TEST_F(DoorsTest, AnUnprivilegedShellGetsNothingButMetrics) {
    start();
    for (const auto& socket : {daemon.socket(), read_socket()}) {
        EXPECT_EQ(curl("", socket, "http://localhost/v1/status"), "000") << "the kernel refuses the connection";
    }
    EXPECT_EQ(tcp(url("/metrics")), "200");
    EXPECT_EQ(tcp(url("/v1/status")), "403");
    EXPECT_EQ(tcp(url("/v1/windows/latest/report")), "403");
    EXPECT_EQ(tcp("-X POST " + url("/v1/captures")), "403");
    EXPECT_EQ(tcp("-X POST " + url("/metrics")), "405");
}

TEST_F(DoorsTest, GroupsOpenTheirSocketAlsoAsSupplementaryOnes) {
    start();
    EXPECT_EQ(curl(kReadGroup, read_socket(), "http://localhost/v1/windows/latest/report"), "200");
    EXPECT_EQ(curl(kReadGroup, read_socket(), "-X POST http://localhost/v1/captures"), "405");
    EXPECT_EQ(curl(kReadGroup, read_socket(), "http://localhost/v1/captures"), "403");
    EXPECT_EQ(curl(kReadGroup, daemon.socket(), "http://localhost/v1/status"), "000");
    EXPECT_EQ(curl(kControlGroup, daemon.socket(), "http://localhost/v1/status"), "200");
    EXPECT_EQ(curl(kControlGroup, daemon.socket(), "-X POST 'http://localhost/v1/captures?duration=100ms'"), "200");
    EXPECT_EQ(curl(kControlGroup, read_socket(), "http://localhost/v1/status"), "000");
    const auto log = daemon.log();
    EXPECT_THAT(log, HasSubstr("audit uid=65534 pid="));
    EXPECT_THAT(log, HasSubstr("exe=/usr/bin/curl"));
}

TEST_F(DoorsTest, TheCommandLineNamesTheGroupAndFindsTheReadSocket) {
    start();
    // What a stranger can run.
    const std::string program = folder / "perfvigil";
    ASSERT_EQ(std::system(("cp " + std::string(test::kPerfvigil) + " " + program + " && chmod 755 " + program).c_str()),
              0);
    const auto status = program + " status --socket " + daemon.socket();
    EXPECT_THAT(as_nobody("", status), testing::AllOf(HasSubstr("Permission denied"),
                                                      HasSubstr(std::string("members of the group ") + kReadGroup)));
    EXPECT_THAT(as_nobody(kReadGroup, status), HasSubstr("recording"));
    const auto refused = as_nobody(kReadGroup, program + " capture -d 1s --socket " + daemon.socket());
    EXPECT_THAT(refused,
                HasSubstr(std::string("members of the group ") + kControlGroup + ": usermod -aG " + kControlGroup));
}

TEST_F(DoorsTest, PagesFromElsewhereAndReboundNamesGetNothing) {
    start();
    EXPECT_EQ(tcp("-H 'Host: evil.example' " + url("/metrics")), "421");
    const auto port = std::to_string(daemon.port());
    EXPECT_EQ(tcp("--resolve rebound.example:" + port + ":127.0.0.1 http://rebound.example:" + port + "/metrics"),
              "421");
    EXPECT_EQ(tcp("-H 'Sec-Fetch-Site: cross-site' " + url("/metrics")), "403");
    EXPECT_EQ(tcp("-H 'Origin: http://evil.example' -H 'Sec-Fetch-Site: same-site' " + url("/metrics")), "403");
    const auto head = as_nobody("", "curl -s -D - -o /dev/null -H 'Origin: http://evil.example' " + url("/metrics"));
    EXPECT_EQ(head.find("Access-Control"), std::string::npos) << head;
}

TEST_F(DoorsTest, WithATokenProfilesAreServedToWhoKnowsIt) {
    test::spill(folder / "token", "a-long-random-word\n");
    daemon.start({.listen = "127.0.0.1:0\", token_file: \"" + (folder / "token")});
    ASSERT_TRUE(daemon.wait_windows(1)) << daemon.log();
    EXPECT_EQ(tcp(url("/metrics")), "401");
    EXPECT_EQ(tcp("-H 'Authorization: Bearer a-long-random-word' " + url("/v1/windows/latest/report")), "200");
    EXPECT_EQ(tcp("-b perfvigil_token=a-long-random-word " + url("/v1/windows/latest/report")), "200");
    EXPECT_EQ(tcp("-b perfvigil_token=wrong " + url("/v1/windows/latest/report")), "401");
    EXPECT_EQ(tcp("-b perfvigil_token=a-long-random-word -X POST " + url("/v1/captures")), "405");
    EXPECT_EQ(tcp("-b perfvigil_token=a-long-random-word " + url("/v1/captures")), "403");
}

TEST_F(DoorsTest, TwoHundredSlowCallersDoNotHinderMetrics) {
    start();
    std::vector<UniqueFd> slow;
    for (int i = 0; i < 200; ++i) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(daemon.port());
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        const std::string_view some = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
        (void)::send(fd.get(), some.data(), some.size(), MSG_NOSIGNAL);
        slow.push_back(std::move(fd));
        if (i % 20 == 19) {
            const auto began = std::chrono::steady_clock::now();
            EXPECT_EQ(daemon.get_tcp("/metrics").status, 200U) << i;
            EXPECT_LT(std::chrono::steady_clock::now() - began, 1s) << i;
        }
    }
}

TEST_F(DoorsTest, TheServiceManagersSocketsAreServedAndStay) {
    constexpr const char* kActivator = "/usr/bin/systemd-socket-activate";
    if (::access(kActivator, X_OK) != 0) GTEST_SKIP() << "there is no " << kActivator;
    daemon.write_config({});
    const std::string passed = folder / "passed.sock";
    const std::string passed_read = folder / "passed-read.sock";
    Client activator(kActivator, {"-l", passed, "-l", passed_read, "--fdname=control:read", test::kPerfvigild,
                                  "--config", daemon.config()});
    const auto status = [&](const std::string& socket, const std::string& request) {
        Client curl("/usr/bin/curl", {"-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", socket, "-X",
                                      request, "http://localhost/v1/captures"});
        return curl.output();
    };
    for (int i = 0; i < 100 && ::access(passed_read.c_str(), F_OK) != 0; ++i) std::this_thread::sleep_for(20ms);
    EXPECT_EQ(status(passed, "GET"), "200") << "the first caller starts it, and waits";
    EXPECT_EQ(status(passed_read, "GET"), "403");
    EXPECT_EQ(status(passed_read, "POST"), "405");
    EXPECT_NE(::access(daemon.socket().c_str(), F_OK), 0) << "it binds none of its own";
    (void)activator.stop();
    EXPECT_EQ(::access(passed.c_str(), F_OK), 0) << "the name is the service manager's";
}

TEST_F(DoorsTest, AReadSocketWithoutItsGroupIsNamedAndCostsNothingElse) {
    daemon.start({.sockets = ", read: " + read_socket() + ", read_group: nobody-has-this-group"});
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    EXPECT_THAT(daemon.get("/v1/status").body,
                testing::AllOf(HasSubstr("\"read_socket\""), HasSubstr("groupadd --system nobody-has-this-group")));
    EXPECT_NE(::access(read_socket().c_str(), F_OK), 0);
}

}  // namespace
}  // namespace perfvigil
