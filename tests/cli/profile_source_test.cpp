// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/profile_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.hpp"
#include "cli/output_file.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::cli {
namespace {

using testing::HasSubstr;

TEST(ProfileSource, PathsAndStandardInputAreFiles) {
    const test::TempFolder folder;
    EXPECT_TRUE(names_a_file("-"));
    EXPECT_TRUE(names_a_file("perf.data"));
    EXPECT_TRUE(names_a_file("/absent/capture"));
    EXPECT_TRUE(names_a_file(folder.write("capture", "x")));
    EXPECT_FALSE(names_a_file("latest"));
    EXPECT_FALSE(names_a_file("20260131T120500Z"));
}

TEST(ProfileSource, WhatIsNeitherIsSaid) {
    const auto profile = profile_from("so me", "/absent.sock", {});
    ASSERT_FALSE(profile);
    EXPECT_EQ(profile.error().message, "so me: neither a file nor the id of a window");
}

TEST(ProfileSource, WithoutADaemonItsSocketIsNamed) {
    const auto profile = profile_from("latest", "/absent.sock", {});
    ASSERT_FALSE(profile);
    EXPECT_THAT(profile.error().message, HasSubstr("/absent.sock"));
    EXPECT_THAT(profile.error().message, HasSubstr("no daemon listens there"));
}

TEST(ProfileSource, FilesAreRead) {
    const test::TempFolder folder;
    const auto path = folder.write("odd", "this is no capture");
    const auto profile = profile_from(path, "/absent.sock", {});
    ASSERT_FALSE(profile);
    EXPECT_THAT(profile.error().message, HasSubstr(path));
}

TEST(OutputFile, IsWrittenWholeOrSaysWhy) {
    const test::TempFolder folder;
    const auto path = folder.write("out", "longer than what replaces it");
    ASSERT_TRUE(write_output(path, "short"));
    EXPECT_EQ(*read_file(path), "short");
    const auto failed = write_output(folder / "absent/out", "x");
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message, HasSubstr("absent/out"));
    const auto full = write_output("/dev/full", "x");
    ASSERT_FALSE(full);
    EXPECT_THAT(full.error().message, HasSubstr("/dev/full: No space left on device"));
}

}  // namespace
}  // namespace perfvigil::cli
