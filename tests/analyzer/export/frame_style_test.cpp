// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/frame_style.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace perfvigil::analyzer {
namespace {

TEST(FrameStyle, KindsAreToldByBinary) {
    const auto kind = [](const char* dso, bool kernel, UnknownReason reason = UnknownReason::kNone) {
        return frame_kind({.name = "f", .dso = dso, .kernel = kernel, .reason = reason});
    };
    EXPECT_EQ(kind("/usr/bin/x", false), FrameKind::kUser);
    EXPECT_EQ(kind("[vdso]", false), FrameKind::kUser);
    EXPECT_EQ(kind("[kernel.kallsyms]", true), FrameKind::kKernel);
    EXPECT_EQ(kind("[kernel.vmlinux]", true), FrameKind::kKernel);
    EXPECT_EQ(kind("[nfsd]", true), FrameKind::kModule);
    EXPECT_EQ(kind("/lib/modules/6.1/kernel/fs/nfsd/nfsd.ko.xz", true), FrameKind::kModule);
    EXPECT_EQ(kind("[jit]", false), FrameKind::kJit);
    EXPECT_EQ(kind("/tmp/perf-12.map", false), FrameKind::kJit);
    EXPECT_EQ(kind("//anon", false), FrameKind::kJit);
    EXPECT_EQ(kind("/usr/bin/x", false, UnknownReason::kNoSymbols), FrameKind::kUnknown);
    EXPECT_EQ(frame_kind({.name = "[unknown]", .dso = "/usr/bin/x"}), FrameKind::kUnknown);
}

TEST(FrameStyle, UnknownFunctionsAreCalledByTheirBinary) {
    EXPECT_EQ(frame_name({.name = "work", .dso = "/usr/bin/x"}), "work");
    EXPECT_EQ(frame_name({.name = "[unknown]", .dso = "/usr/lib/libc.so.6"}), "[libc.so.6]");
    EXPECT_EQ(frame_name({.name = "[unknown]", .dso = "[nfsd]"}), "[nfsd]");
    EXPECT_EQ(frame_name({.name = "[unknown]", .dso = "[unknown]"}), "[unknown]");
    EXPECT_EQ(frame_name({.name = "", .dso = ""}), "[unknown]");
    EXPECT_EQ(thread_name(""), "[no name]");
}

// Relative luminance and contrast by WCAG 2.1.
double contrast_to_black(Colour colour) {
    const auto linear = [](std::uint8_t value) {
        const double part = value / 255.0;
        return part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
    };
    const double luminance = 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
    return (luminance + 0.05) / 0.05;
}

TEST(FrameStyle, TextStandsOutFromEveryColour) {
    for (std::size_t kind = 0; kind < kFrameKinds; ++kind) {
        for (int i = 0; i < 500; ++i) {
            const auto colour = frame_colour(static_cast<FrameKind>(kind), std::to_string(i));
            EXPECT_GE(contrast_to_black(colour), 7) << colour.hex();
        }
    }
    for (double change = -1; change <= 1; change += 0.1) EXPECT_GE(contrast_to_black(change_colour(change)), 7);
}

TEST(FrameStyle, ChangesAreRedAndBlue) {
    EXPECT_EQ(change_colour(0).hex(), "#f4f4f4");
    EXPECT_EQ(change_colour(1), change_colour(7));
    EXPECT_EQ(change_colour(-1), change_colour(-7));
    EXPECT_EQ(change_colour(std::numeric_limits<double>::quiet_NaN()), change_colour(0));
    EXPECT_GT(change_colour(0.5).red, change_colour(0.5).blue);
    EXPECT_GT(change_colour(-0.5).blue, change_colour(-0.5).red);
}

}  // namespace
}  // namespace perfvigil::analyzer
