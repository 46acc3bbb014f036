// SPDX-License-Identifier: GPL-2.0-or-later
// BPF programs that are gone when names are asked for, in captures of stock perf and of ours: what the records said at
// the time is all there is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "analyzer/capture_analysis.hpp"
#include "analyzer/hot_functions.hpp"
#include "collector/capture_reader.hpp"
#include "tests/support/client.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr const char* kPerf = "/usr/bin/perf";
constexpr int kSkipped = 77;

// Samples whose own function is a BPF program with that name behind its tag, and shown as one.
std::uint64_t samples_of(const Profile& profile, std::string_view name) {
    std::uint64_t samples = 0;
    for (const auto& row : function_totals(profile, 0, IdleRows::kInclude)) {
        const auto& function = profile.functions[row.function];
        if (!function.name.starts_with("bpf_prog_") || !function.name.ends_with(name)) continue;
        EXPECT_EQ(function.dso, "[bpf]");
        EXPECT_TRUE(function.kernel);
        samples += row.self_samples;
    }
    return samples;
}

TEST(SymbolsBpf, ProgramsOfAPerfCaptureHaveTheirNamesFromItsRecords) {
    if (::access(kPerf, X_OK) != 0) GTEST_SKIP() << kPerf << " is not installed";
    const test::TempFolder folder;
    const auto capture = folder / "bpf.data";
    test::Client record(kPerf, {"record", "-q", "-o", capture, "-a", "-g", "-F", "500", "-e", "cpu-clock", "--",
                                test::client_path("bpf_spin"), "0.7", "pv_first", "pv_second"});
    (void)record.output();
    if (record.exit_status() == kSkipped) GTEST_SKIP() << "BPF programs cannot be loaded or are not compiled here";
    auto reader = collector::CaptureReader::open(capture);
    ASSERT_TRUE(reader) << reader.error().message;
    CaptureOptions options;
    options.symbols.buildid_dir = "";
    const auto profile = analyze_capture(**reader, "bpf", options, system_clock());
    ASSERT_TRUE(profile) << profile.error().message;
    const auto first = samples_of(*profile, "_pv_first");
    const auto second = samples_of(*profile, "_pv_second");
    // 350 samples each on an idle machine.
    EXPECT_GT(first, 100U);
    EXPECT_GT(second, 100U);
    std::uint64_t nameless = 0;
    for (const auto& row : function_totals(*profile, 0, IdleRows::kInclude)) {
        const auto& function = profile->functions[row.function];
        if (function.kernel && function.reason == UnknownReason::kOutsideSymbols) nameless += row.self_samples;
    }
    EXPECT_LE(nameless, (first + second) / 20);
}

}  // namespace
}  // namespace perfvigil::analyzer
