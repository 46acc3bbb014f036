// SPDX-License-Identifier: GPL-2.0-or-later
// The virtual machine of ./dev vm service, judged by its script: the last line counts the faults.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/client.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil {
namespace {

TEST(Service, IsInstalledRunsIsUpgradedAndPurged) {
    for (const char* tool : {"/usr/bin/qemu-system-x86_64", "/usr/bin/mmdebstrap", "/usr/bin/dh"}) {
        if (::access(tool, X_OK) != 0) GTEST_SKIP() << tool << " is not installed (./dev deps test service)";
    }
    const auto build = std::filesystem::path(test::kPerfvigil).parent_path().string();
    test::Client run("/bin/bash", {std::string(test::kSourceDir) + "/packaging/vm/service.sh", build});
    const auto text = run.output();
    EXPECT_EQ(run.exit_status(), 0) << text;
    EXPECT_NE(text.find("\n0 faults\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace perfvigil
