// SPDX-License-Identifier: GPL-2.0-or-later
// The systemd unit: understood by systemd, and without the options that would blind the daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <regex>

#include "tests/support/daemon_files.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

const std::string kUnit = std::string(test::kSourceDir) + "/systemd/perfvigild.service";

// Exit status and what a command says.
std::pair<int, std::string> run(const std::string& command) {
    std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer{};
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
    return {::pclose(pipe), text};
}

TEST(UnitFileTest, SystemdUnderstandsIt) {
    if (run("systemd-analyze --version").first != 0) GTEST_SKIP() << "there is no systemd-analyze";
    const test::TempFolder folder;
    // The program is not installed here.
    const auto unit = std::regex_replace(test::slurp(kUnit), std::regex("ExecStart=\\S+"), "ExecStart=/bin/true");
    test::spill(folder / "perfvigild.service", unit);
    const auto [status, text] = run("systemd-analyze verify --man=no " + (folder / "perfvigild.service"));
    EXPECT_EQ(status, 0);
    EXPECT_EQ(text, "");
}

TEST(UnitFileTest, DoesNotBlindTheDaemon) {
    const auto unit = test::slurp(kUnit);
    ASSERT_FALSE(unit.empty());
    for (const auto* blinding :
         {"ProtectKernelTunables", "ProtectKernelLogs", "ProtectKernelModules", "ProcSubset", "PrivateUsers",
          "PrivateTmp", "ProtectProc", "CPUQuota", "DynamicUser", "PrivatePIDs"}) {
        EXPECT_FALSE(std::regex_search(unit, std::regex(std::string("(^|\n)") + blinding + "="))) << blinding;
    }
    EXPECT_THAT(unit, testing::HasSubstr("\nSystemCallFilter=@system-service perf_event_open seccomp\n"));
    for (const auto* needed : {"CAP_PERFMON", "CAP_SYSLOG", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"}) {
        EXPECT_TRUE(std::regex_search(unit, std::regex(std::string("\nAmbientCapabilities=.*") + needed))) << needed;
        EXPECT_TRUE(std::regex_search(unit, std::regex(std::string("\nCapabilityBoundingSet=.*") + needed))) << needed;
    }
    EXPECT_THAT(unit, testing::HasSubstr("\nLimitMEMLOCK=infinity\n"));
    EXPECT_THAT(unit, testing::HasSubstr("\nType=notify\n"));
}

}  // namespace
}  // namespace perfvigil
