// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/peer_limits.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <map>
#include <string>

#include "base/fd.hpp"
#include "daemon/activation.hpp"
#include "daemon/peer.hpp"

namespace perfvigil::daemon {
namespace {

using namespace std::chrono_literals;

TEST(PeerLimitsTest, AUserHasABurstAndThenItsRate) {
    PeerLimits limits(10, 5);
    const MonotonicTime start{100s};
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(limits.admits(1000, start));
    EXPECT_FALSE(limits.admits(1000, start));
    EXPECT_TRUE(limits.admits(1001, start)) << "another one's bucket";
    EXPECT_FALSE(limits.admits(1000, start + 99ms));
    EXPECT_TRUE(limits.admits(1000, start + 200ms));
    int admitted = 0;
    for (int ms = 0; ms < 10000; ms += 10) admitted += limits.admits(1000, start + 10s + std::chrono::milliseconds(ms));
    EXPECT_NEAR(admitted, 100 + 5, 1) << "10 per second, and what was saved up before";
}

TEST(PeerLimitsTest, ForgetsWhoHasNotAskedForLong) {
    PeerLimits limits(10, 5);
    const MonotonicTime start{100s};
    for (uid_t user = 0; user < 1024; ++user) EXPECT_TRUE(limits.admits(user, start));
    EXPECT_FALSE(limits.admits(5000, start)) << "too many users at once";
    EXPECT_TRUE(limits.admits(5000, start + 1s));
    EXPECT_EQ(limits.known_users(), 1U);
}

TEST(PeerTest, IsWhoConnected) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const UniqueFd one(ends[0]);
    const UniqueFd other(ends[1]);
    const auto peer = peer_of(one.get());
    ASSERT_TRUE(peer);
    EXPECT_EQ(peer->uid, ::geteuid());
    EXPECT_EQ(peer->pid, ::getpid());
    EXPECT_TRUE(program_of(peer->pid).ends_with("/test_daemon")) << program_of(peer->pid);
    EXPECT_EQ(program_of(0), "");
}

TEST(ActivationTest, NamesTheDescriptorsFromThreeOn) {
    std::map<std::string, std::string> variables{
        {"LISTEN_PID", "77"}, {"LISTEN_FDS", "3"}, {"LISTEN_FDNAMES", "control:read:http"}};
    const auto variable = [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
    const auto passed = passed_names(77, variable);
    ASSERT_EQ(passed.size(), 3U);
    EXPECT_EQ(passed[0].fd, 3);
    EXPECT_EQ(passed[0].name, "control");
    EXPECT_EQ(passed[2].fd, 5);
    EXPECT_EQ(passed[2].name, "http");
    EXPECT_TRUE(passed_names(78, variable).empty()) << "meant for another process";
    variables["LISTEN_FDS"] = "-1";
    EXPECT_TRUE(passed_names(77, variable).empty());
    variables["LISTEN_FDS"] = "4000000000";
    EXPECT_TRUE(passed_names(77, variable).empty());
    variables.clear();
    EXPECT_TRUE(passed_names(77, variable).empty());
}

}  // namespace
}  // namespace perfvigil::daemon
