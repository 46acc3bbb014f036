// SPDX-License-Identifier: GPL-2.0-or-later
// What the configuration excludes and redacts, looked for in everything that a daemon gives away and keeps.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include "base/fd.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/exposition.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/plain_text.hpp"
#include "tests/support/report_view.hpp"

namespace perfvigil {
namespace {

using test::Client;
using test::DaemonProcess;
using testing::HasSubstr;
using testing::Not;

constexpr auto kNobody = "65534";

class ExclusionTest : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    }
    // A client under another name, which nothing else of this host has, for any user to run.
    std::string copy_of(const std::string& client, const std::string& name) {
        const auto to = folder / name;
        std::filesystem::copy_file(test::client_path(client), to);
        EXPECT_EQ(::chmod(to.c_str(), 0755), 0);
        EXPECT_EQ(::chmod(folder.path().c_str(), 0755), 0);
        return to;
    }
    // Both streams of `perfvigil capture`, and its status in the last line.
    std::string capture(const std::string& arguments) {
        return Client("/bin/sh", {"-c", fmt::format("{} capture --socket {} {} 2>&1; echo status $?", test::kPerfvigil,
                                                    daemon.socket(), arguments)})
            .output();
    }
    // Everything that readers can get of the daemon, and its store.
    std::map<std::string, std::string> given_away() {
        std::map<std::string, std::string> all;
        const auto take = [&](const std::string& target) {
            const auto reply = daemon.get(target);
            EXPECT_EQ(reply.status, 200U) << target << ": " << reply.body.substr(0, 200);
            all[target] = test::plain_text(reply.body);
        };
        const auto id = daemon.stored_windows().at(0);
        for (const auto& what : {"report", "report?format=json", "profile"}) {
            const auto target = fmt::format("/v1/windows/{}/{}", id, what);
            take(target);
        }
        const std::string exported = "/v1/export?window=" + id + "&to=";
        for (const std::string& target : {std::string("/metrics"), std::string("/v1/live"), std::string("/v1/status"),
                                          exported + "pprof", exported + "folded"}) {
            take(target);
        }
        for (const auto& name : DaemonProcess::files(daemon.store(), "")) {
            all["store " + name] = test::plain_text(read_file(daemon.store() + "/" + name).value_or(""));
        }
        all["log"] = daemon.log();
        return all;
    }
    double series(const std::string& family, const std::map<std::string, std::string>& labels) {
        return test::parse_exposition(daemon.get("/metrics").body).value().value(family, labels).value_or(0);
    }

    test::TempFolder folder;
    DaemonProcess daemon{folder};
};

TEST_F(ExclusionTest, CommsUsersAndPathsAreNowhere) {
    const Client by_comm(copy_of("spin", "pv-secret"), {"90", "0"});
    const Client by_user("/usr/bin/setpriv",
                         {"--reuid=65534", "--clear-groups", copy_of("spin", "pv-nobodys"), "90", "1"});
    const Client seen(copy_of("spin", "pv-visible"), {"90", "1"});
    daemon.start({.extra = fmt::format("exclude: {{comms: [\"pv-secret\"], users: [\"{}\", no-such-user]}}\n"
                                       "redact: paths\n",
                                       kNobody)});
    ASSERT_TRUE(daemon.wait_windows(2)) << daemon.log();
    EXPECT_THAT(daemon.log(), HasSubstr("exclude.users=no-such-user"));
    ASSERT_TRUE(daemon.wait_until([&] {
        return series("perfvigil_function_cpu_seconds_total", {{"function", "(excluded)"}, {"dso", "(excluded)"}}) > 1;
    }));
    EXPECT_GT(series("perfvigil_unit_cpu_seconds_total", {{"unit", "(excluded)"}}), 1);
    const auto all = given_away();
    EXPECT_THAT(all.at("/metrics"), HasSubstr("pv-visible"));
    for (const auto& [where, text] : all) {
        ASSERT_FALSE(text.empty()) << where;
        EXPECT_THAT(text, Not(HasSubstr("pv-secret"))) << where;
        EXPECT_THAT(text, Not(HasSubstr("pv-nobodys"))) << where;
        if (where == "log" || where == "/v1/status") continue;  // they name the daemon's own folders
        EXPECT_THAT(text, Not(HasSubstr(folder.path().string()))) << where;
    }
    // Both CPUs are as busy as they are.
    const test::ReportView report(
        daemon.get("/v1/windows/" + daemon.stored_windows().at(0) + "/report?format=json").body);
    for (const unsigned cpu : {0U, 1U}) EXPECT_GT(report.cpu(cpu).busy, 0.9);
}

TEST_F(ExclusionTest, RawRecordsAreNeitherKeptNorGiven) {
    daemon.start({.extra = "exclude: {comms: [\"pv-secret\"]}\n"});
    const Client secret(copy_of("spin", "pv-secret"), {"60", "0"});
    ASSERT_TRUE(daemon.wait_windows(1)) << daemon.log();
    EXPECT_THAT(daemon.log(), HasSubstr("no raw captures are kept"));
    EXPECT_TRUE(DaemonProcess::files(daemon.captures(), "").empty());

    const auto file = folder / "out.data";
    const auto raw = capture("-a -d 1s -o " + file);
    EXPECT_THAT(raw, HasSubstr("raw records would tell what exclude and redact hide here"));
    EXPECT_THAT(raw, Not(HasSubstr("status 0")));
    EXPECT_FALSE(std::filesystem::exists(file));

    const auto report = capture("-a -d 2s --force");
    EXPECT_THAT(report, HasSubstr("status 0"));
    EXPECT_THAT(report, HasSubstr("(excluded)"));
    EXPECT_THAT(report, Not(HasSubstr("pv-secret")));
}

}  // namespace
}  // namespace perfvigil
