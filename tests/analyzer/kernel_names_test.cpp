// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/kernel_names.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/elf_image.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr const char* kKallsyms =
    "ffffffff81000000 T _text\n"
    "ffffffff81001000 t schedule\n"
    "ffffffff81002000 t do_idle\n"
    "ffffffff81003000 T _etext\n"
    "ffffffffc0001000 t ext4_read\t[ext4]\n";

class KernelNamesTest : public testing::Test {
protected:
    KernelNamesTest() {
        kallsyms_ = folder_.write("kallsyms", kKallsyms);
        here_.hostname = "here";
        here_.kernel_build_id = test::build_id_of("0011");
        here_.boot = clock_.wall() - clock_.monotonic().time_since_epoch();
        capture_.hostname = "here";
        capture_.kernel_build_id = here_.kernel_build_id;
        capture_.kernel_start = 0xffffffff81000000;
        capture_.wall_reference = clock_.wall();
        capture_.monotonic_reference = clock_.monotonic();
    }
    std::string name(KernelNames& names, std::uint64_t address) {
        const auto symbol = names.resolve(RuntimeAddress{address});
        if (symbol.reason != UnknownReason::kNone) return std::string(reason_name(symbol.reason));
        return std::string(symbol.dso) + ' ' + std::string(symbol.name);
    }
    KernelNames of_capture(const KernelSymbolCopies& copies = {}) {
        return KernelNames(kallsyms_, clock_, here_, capture_, copies);
    }
    void capture_of_elsewhere() {
        capture_.hostname = "elsewhere";
        capture_.kernel_build_id = test::build_id_of("77");
    }

    test::TempFolder folder_;
    test::ManualClock clock_;
    std::string kallsyms_;
    ThisHost here_;
    collector::HostFacts capture_;
};

TEST_F(KernelNamesTest, Live) {
    KernelNames names(kallsyms_, clock_);
    EXPECT_EQ(name(names, 0xffffffff81001234), "[kernel.kallsyms] schedule");
    EXPECT_EQ(name(names, 0xffffffffc0001010), "[ext4] ext4_read");
    EXPECT_EQ(name(names, 0xffffffff80000000), "outside_symbols");
    EXPECT_EQ(names.readings(), 1U);
}

TEST_F(KernelNamesTest, ReadsAgainWhenToldAndKeepsTheOldNamesInTheirWindow) {
    KernelNames names(kallsyms_, clock_);
    const auto before = names.resolve(RuntimeAddress{0xffffffffc0001010});
    // ext4 goes, xfs comes.
    folder_.write("kallsyms", "ffffffff81001000 t schedule\nffffffffc0009000 t xfs_read\t[xfs]\n");
    names.note_change();
    EXPECT_EQ(name(names, 0xffffffffc0009010), "outside_symbols");  // not more often than every other second
    clock_.advance(std::chrono::seconds(2));
    EXPECT_EQ(name(names, 0xffffffffc0009010), "[xfs] xfs_read");
    EXPECT_EQ(name(names, 0xffffffffc0001010), "[ext4] ext4_read");
    EXPECT_EQ(before.name, "ext4_read");
    names.begin_window();
    EXPECT_EQ(name(names, 0xffffffffc0001010), "outside_symbols");
    EXPECT_EQ(names.readings(), 2U);
}

TEST_F(KernelNamesTest, AMissReadsAgainOnceInAWhile) {
    KernelNames names(kallsyms_, clock_);
    EXPECT_EQ(name(names, 0xffffffffc0009010), "outside_symbols");
    folder_.write("kallsyms", "ffffffffc0009000 t xfs_read\t[xfs]\n");
    EXPECT_EQ(name(names, 0xffffffffc0009010), "outside_symbols");
    clock_.advance(std::chrono::seconds(60));
    EXPECT_EQ(name(names, 0xffffffffc0009010), "[xfs] xfs_read");
    for (int i = 0; i < 100; ++i) (void)names.resolve(RuntimeAddress{1});
    EXPECT_EQ(names.readings(), 2U);
}

TEST_F(KernelNamesTest, ReadingsOfOneWindowAreFew) {
    KernelNames names(kallsyms_, clock_);
    for (int i = 0; i < 50; ++i) {
        (void)names.resolve(RuntimeAddress{0xffffffff81001234});
        names.note_change();
        clock_.advance(std::chrono::seconds(3));
    }
    EXPECT_EQ(names.readings(), 4U);
    names.begin_window();
    (void)names.resolve(RuntimeAddress{0xffffffff81001234});
    EXPECT_EQ(names.readings(), 5U);
}

TEST_F(KernelNamesTest, HiddenOrMissingSaysWhy) {
    folder_.write("kallsyms", "0000000000000000 T _text\n0000000000000000 t schedule\n");
    KernelNames hidden(kallsyms_, clock_);
    EXPECT_EQ(name(hidden, 0xffffffff81001234), "kernel_hidden");
    ASSERT_TRUE(hidden.degraded());
    EXPECT_EQ(hidden.degraded()->reason, "no_kernel_symbols");

    KernelNames missing(folder_ / "nowhere", clock_);
    EXPECT_EQ(name(missing, 0xffffffff81001234), "kernel_hidden");
    ASSERT_TRUE(missing.degraded());
    EXPECT_EQ(missing.symbols(), nullptr);
}

TEST_F(KernelNamesTest, CaptureOfThisBoot) {
    auto names = of_capture();
    EXPECT_EQ(name(names, 0xffffffff81001234), "[kernel.kallsyms] schedule");
    EXPECT_EQ(name(names, 0xffffffffc0001010), "[ext4] ext4_read");
}

TEST_F(KernelNamesTest, CaptureOfAnotherBootIsShiftedAndHasNoModules) {
    constexpr std::uint64_t kShift = 0x1a400000;
    capture_.monotonic_reference += std::chrono::hours(5);
    capture_.kernel_start += kShift;
    auto names = of_capture();
    const auto symbol = names.resolve(RuntimeAddress{0xffffffff81001234 + kShift});
    EXPECT_EQ(symbol.name, "schedule");
    EXPECT_EQ(symbol.start, 0xffffffff81001000 + kShift);
    EXPECT_EQ(name(names, 0xffffffff81001234), "build_id_mismatch");
    EXPECT_EQ(name(names, 0xffffffffc0001010), "build_id_mismatch");
    EXPECT_EQ(name(names, 0xffffffffc0001010 + kShift), "build_id_mismatch");
}

TEST_F(KernelNamesTest, CaptureOfAnotherKernelHasNoNames) {
    capture_.kernel_build_id = test::build_id_of("0012");
    auto other = of_capture();
    EXPECT_EQ(name(other, 0xffffffff81001234), "build_id_mismatch");
    capture_.kernel_build_id = {};
    auto unnamed = of_capture();
    EXPECT_EQ(name(unnamed, 0xffffffff81001234), "build_id_mismatch");
    // We do not know our own either.
    here_.kernel_build_id = {};
    auto both = of_capture();
    EXPECT_EQ(name(both, 0xffffffff81001234), "build_id_mismatch");
}

TEST_F(KernelNamesTest, CaptureWithoutAReferenceHasNoNames) {
    capture_.wall_reference = {};
    capture_.kernel_start = 0;
    auto names = of_capture();
    EXPECT_EQ(name(names, 0xffffffff81001234), "build_id_mismatch");
    capture_.kernel_start = 0xffffffff81000000;
    capture_.kernel_reference = "_nowhere";
    auto unknown_reference = of_capture();
    EXPECT_EQ(name(unknown_reference, 0xffffffff81001234), "build_id_mismatch");
}

// --- copies of the recording kernel's symbols

TEST_F(KernelNamesTest, AGivenKallsymsOfTheRecordingBootNamesEverything) {
    capture_of_elsewhere();
    const auto given = folder_.write("theirs",
                                     "ffffffff81000000 T _text\nffffffff81001000 t their_function\n"
                                     "ffffffff81003000 T _etext\nffffffffc0001000 t their_module\t[mod]\n");
    auto names = of_capture({.given = given});
    EXPECT_EQ(name(names, 0xffffffff81001234), "[kernel.kallsyms] their_function");
    EXPECT_EQ(name(names, 0xffffffffc0001010), "[mod] their_module");
    EXPECT_FALSE(names.copy_error());
}

TEST_F(KernelNamesTest, AGivenSystemMapIsMovedToWhereTheKernelLay) {
    constexpr std::uint64_t kShift = 0x2a000000;
    capture_of_elsewhere();
    capture_.kernel_start += kShift;
    // System.map: nm's types, absolute symbols, no modules.
    const auto given = folder_.write("System.map",
                                     "0000000000000000 D __per_cpu_start\n0000000000000000 A VDSO32_PRELINK\n"
                                     "ffffffff81000000 T _text\nffffffff81001000 t their_function\n"
                                     "ffffffff81003000 T _etext\nffffffff82000000 D jiffies\n");
    auto names = of_capture({.given = given});
    const auto symbol = names.resolve(RuntimeAddress{0xffffffff81001234 + kShift});
    EXPECT_EQ(symbol.name, "their_function");
    EXPECT_EQ(symbol.start, 0xffffffff81001000 + kShift);
    EXPECT_EQ(name(names, 0xffffffff81001234), "build_id_mismatch");
    const auto ranges = names.text_ranges([](std::string_view of) { return of == "their_function" ? 3 : 0; });
    ASSERT_EQ(ranges.size(), 1U);
    EXPECT_EQ(ranges[0].start, 0xffffffff81001000 + kShift);
}

TEST_F(KernelNamesTest, ACaptureThatDoesNotSayWhereItsKernelLayTakesTheCopyAsItIs) {
    capture_of_elsewhere();
    capture_.kernel_start = 0;
    auto names = of_capture({.given = kallsyms_});
    EXPECT_EQ(name(names, 0xffffffff81001234), "[kernel.kallsyms] schedule");
}

TEST_F(KernelNamesTest, AGivenFileOfNoUseIsSaid) {
    capture_of_elsewhere();
    const std::pair<const char*, const char*> cases[]{
        {"some text\nof no kernel\n", "neither a kallsyms file nor a System.map"},
        {"0000000000000000 T _text\n0000000000000000 t schedule\n", "every address in it is zero"},
        {"ffffffff81001000 t schedule\n", "has no symbol _text"}};
    for (const auto& [text, sentence] : cases) {
        const auto given = folder_.write("given", text);
        auto names = of_capture({.given = given});
        EXPECT_NE(name(names, 0xffffffff81001234).find("build_id_mismatch"), std::string::npos);
        ASSERT_TRUE(names.copy_error()) << text;
        EXPECT_EQ(names.copy_error()->message.find("--kallsyms: " + given), 0U);
        EXPECT_NE(names.copy_error()->message.find(sentence), std::string::npos) << names.copy_error()->message;
    }
}

// Whoever names /proc/kallsyms names this host's kernel.
TEST_F(KernelNamesTest, ThisHostsKallsymsIsNoCopyForAnotherKernel) {
    capture_of_elsewhere();
    auto names = of_capture({.given = "/proc/kallsyms"});
    EXPECT_EQ(name(names, 0xffffffff81001234), "build_id_mismatch");
}

TEST_F(KernelNamesTest, ACopyFoundByBuildIdNamesTheCoreTextAlone) {
    capture_of_elsewhere();
    auto names = of_capture({.cached = kallsyms_});
    EXPECT_EQ(name(names, 0xffffffff81001234), "[kernel.kallsyms] schedule");
    EXPECT_EQ(name(names, 0xffffffffc0001010), "build_id_mismatch");
    // Of this very boot the running kernel knows more.
    capture_.hostname = "here";
    capture_.kernel_build_id = here_.kernel_build_id;
    auto own = of_capture({.cached = "/nonexistent"});
    EXPECT_EQ(name(own, 0xffffffffc0001010), "[ext4] ext4_read");
}

TEST_F(KernelNamesTest, ModulesAreNamedWhereTheirFunctionsAreNot) {
    capture_of_elsewhere();
    capture_.modules = {
        {.name = "ath9k", .path = "[ath9k]", .start = 0xffffffffc0000000, .size = 0x1000, .build_id = {}}};
    auto names = of_capture();
    EXPECT_EQ(names.resolve(RuntimeAddress{0xffffffffc0000fff}).dso, "[ath9k]");
    EXPECT_EQ(names.resolve(RuntimeAddress{0xffffffffc0001000}).dso, "[kernel.kallsyms]");
}

TEST_F(KernelNamesTest, BootsAreToldApart) {
    EXPECT_TRUE(same_boot(here_, capture_));
    capture_.monotonic_reference += std::chrono::seconds(1);
    EXPECT_TRUE(same_boot(here_, capture_));
    capture_.monotonic_reference += std::chrono::seconds(2);
    EXPECT_FALSE(same_boot(here_, capture_));
    capture_.monotonic_reference -= std::chrono::seconds(3);
    capture_.hostname = "there";
    EXPECT_FALSE(same_boot(here_, capture_));
    EXPECT_TRUE(same_kernel(here_, capture_));
}

TEST_F(KernelNamesTest, ThisHostIsReadWhole) {
    const auto host = read_this_host(system_clock());
    EXPECT_FALSE(host.hostname.empty());
    EXPECT_LT(host.boot, system_clock().wall());
}

}  // namespace
}  // namespace perfvigil::analyzer
