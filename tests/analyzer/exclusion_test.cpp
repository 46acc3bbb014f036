// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/exclusion.hpp"

#include <gtest/gtest.h>

#include <map>

namespace perfvigil::analyzer {
namespace {

using collector::Process;
using collector::ProcessEpoch;
using collector::ProcessOwner;
using collector::Uid;

constexpr Uid kAlice{1000};
constexpr Uid kRoot{0};

// /proc of a host whose processes are written down.
class Host {
public:
    void owns(Pid pid, Uid real, Uid effective) { owners_[pid.value] = {.real = real, .effective = effective}; }
    void owns(Pid pid, Uid uid) { owns(pid, uid, uid); }
    void ends(Pid pid) { owners_.erase(pid.value); }
    Exclusion exclusion(ExclusionRules rules) {
        return Exclusion(std::move(rules), [this](Pid pid) -> std::optional<ProcessOwner> {
            ++asked;
            const auto found = owners_.find(pid.value);
            return found == owners_.end() ? std::nullopt : std::optional(found->second);
        });
    }

    int asked = 0;

private:
    std::map<std::int32_t, ProcessOwner> owners_;
};

Process process(std::int32_t pid, std::string comm = "sh") {
    Process made;
    made.pid = Pid{pid};
    made.epoch = ProcessEpoch{static_cast<std::uint32_t>(pid)};
    made.comm = std::move(comm);
    return made;
}

TEST(ExclusionTest, UnitsAreMatchedByAnyPartOfThePath) {
    Host host;
    auto exclusion = host.exclusion({.units = {"vault*.service", "user-1000.slice", "docker-*.scope"}});
    auto task = process(7);
    for (const auto* path : {"/system.slice/vault@2.service", "/user.slice/user-1000.slice/session-3.scope",
                             "/user.slice/user-1000.slice/user@1000.service/app.slice/x.service",
                             "/system.slice/docker-0f.scope/init", "/_vault.service"}) {
        EXPECT_TRUE(exclusion.takes(task, "x", path)) << path;
        EXPECT_TRUE(exclusion.takes(task, "x", path)) << "remembered: " << path;
    }
    for (const auto* path :
         {"/", "/system.slice/nginx.service", "/user.slice/user-1001.slice", "/system.slice/vault"}) {
        EXPECT_FALSE(exclusion.takes(task, "x", path)) << path;
        EXPECT_FALSE(exclusion.takes(task, "x", path)) << "remembered: " << path;
    }
    EXPECT_TRUE(exclusion.takes(task, "x", "")) << "nobody knows whose it is";
    EXPECT_EQ(host.asked, 0) << "no rule asks for users";
}

TEST(ExclusionTest, CommsAreOfTheThreadOrItsProcess) {
    Host host;
    auto exclusion = host.exclusion({.comms = {"gpg*", "java"}});
    auto java = process(7, "java");
    auto shell = process(8, "bash");
    EXPECT_TRUE(exclusion.takes(java, "C2 CompilerThre", "/"));
    EXPECT_TRUE(exclusion.takes(shell, "gpg-agent", ""));
    EXPECT_FALSE(exclusion.takes(shell, "bash", "")) << "where no rule is of units a path is not needed";
}

TEST(ExclusionTest, UsersAreAskedForOnceInASlice) {
    Host host;
    auto exclusion = host.exclusion({.users = {kAlice}});
    auto task = process(7);
    host.owns(task.pid, kRoot);
    EXPECT_FALSE(exclusion.takes(task, "", ""));
    host.owns(task.pid, kAlice);
    EXPECT_FALSE(exclusion.takes(task, "", ""));
    EXPECT_EQ(host.asked, 1);
    exclusion.begin_slice();
    EXPECT_TRUE(exclusion.takes(task, "", ""));
    EXPECT_EQ(host.asked, 2);
    // Exec makes another program of it, which may have the set-user-id bit.
    task.epoch = ProcessEpoch{99};
    host.owns(task.pid, kRoot, kRoot);
    EXPECT_FALSE(exclusion.takes(task, "", ""));
    EXPECT_EQ(host.asked, 3);
}

TEST(ExclusionTest, TheRealAndTheEffectiveUserCount) {
    Host host;
    auto exclusion = host.exclusion({.users = {kAlice}});
    auto sudo = process(7);
    host.owns(sudo.pid, kAlice, kRoot);
    EXPECT_TRUE(exclusion.takes(sudo, "", ""));
    auto server = process(8);
    host.owns(server.pid, kRoot, kAlice);
    EXPECT_TRUE(exclusion.takes(server, "", ""));
}

TEST(ExclusionTest, WhatEndedBeforeItWasAskedForIsItsParents) {
    Host host;
    auto exclusion = host.exclusion({.users = {kAlice}});
    auto unknown = process(7);
    EXPECT_TRUE(exclusion.takes(unknown, "", "")) << "nobody knows whose it is";
    auto child = process(8);
    child.owner = {.real = kRoot, .effective = kRoot};  // as fork copied it
    EXPECT_FALSE(exclusion.takes(child, "", ""));
    auto alices = process(9);
    alices.owner = {.real = kAlice, .effective = kAlice};
    EXPECT_TRUE(exclusion.takes(alices, "", ""));
}

TEST(ExclusionTest, TheKernelsThreadsAreNobodys) {
    Host host;
    auto exclusion = host.exclusion({.units = {"*"}, .comms = {"*"}, .users = {kRoot}});
    auto idle = process(0, "swapper");
    idle.kernel_thread = true;
    EXPECT_FALSE(exclusion.takes(idle, "swapper/0", ""));
    EXPECT_EQ(host.asked, 0);
}

TEST(ExclusionTest, OwnersOfWhatRunsAreReadOnce) {
    Host host;
    collector::ProcessTable processes;
    const auto told = [&](std::int32_t pid, std::int32_t parent, bool of_snapshot) {
        collector::TaskRecord fork;
        fork.pid = Pid{pid};
        fork.tid = Tid{pid};
        fork.parent_pid = Pid{parent};
        fork.parent_tid = Tid{parent};
        fork.fork_exec = of_snapshot;
        processes.apply(fork);
    };
    told(50, 1, true);
    host.owns(Pid{50}, kAlice);
    auto exclusion = host.exclusion({.users = {kAlice}});
    exclusion.read_owners(processes);
    exclusion.read_owners(processes);
    EXPECT_EQ(host.asked, 1);
    // A child that is gone when its samples come.
    told(51, 50, false);
    EXPECT_TRUE(exclusion.takes(processes.process(Pid{51}), "", ""));
    ASSERT_TRUE(processes.process(Pid{51}).owner);
    EXPECT_EQ(processes.process(Pid{51}).owner->real, kAlice);
}

}  // namespace
}  // namespace perfvigil::analyzer
