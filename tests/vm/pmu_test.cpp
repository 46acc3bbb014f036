// SPDX-License-Identifier: GPL-2.0-or-later
// The virtual machine of ./dev vm pmu, judged by its script: the last line counts the faults.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/client.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil {
namespace {

TEST(Vm, RecordsACycleCounterOnArm64) {
    for (const char* tool : {"/usr/bin/qemu-system-aarch64", "/usr/bin/mmdebstrap", "/usr/bin/aarch64-linux-gnu-g++"}) {
        if (::access(tool, X_OK) != 0) GTEST_SKIP() << tool << " is not installed (./dev deps vm)";
    }
    const auto build = std::filesystem::path(test::kSourceDir) / "build/arm64";
    if (!std::filesystem::exists(build / "perfvigil")) {
        GTEST_SKIP() << "there is no " << (build / "perfvigil").string() << " (./dev vm pmu builds it)";
    }
    test::Client run("/bin/bash", {std::string(test::kSourceDir) + "/packaging/vm/pmu.sh", build});
    const auto text = run.output();
    EXPECT_EQ(run.exit_status(), 0) << text;
    EXPECT_NE(text.find("\n0 faults\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace perfvigil
