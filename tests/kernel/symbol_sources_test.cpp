// SPDX-License-Identifier: GPL-2.0-or-later
// Names from --symfs and --kallsyms, against those that perf gives with the same; and captures of perf's directory
// format, against its counts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "analyzer/capture_analysis.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr const char* kPerf = "/usr/bin/perf";

using Row = std::pair<std::string, std::string>;  // DSO, symbol
using Counts = std::map<Row, std::uint64_t>;

Counts counts_of_perf(const std::string& file, std::vector<std::string> options) {
    std::vector<std::string> arguments{
        "report", "-f", "-i", file, "--stdio", "-g", "none", "--no-children", "-F", "sample,period,dso,sym", "-t", "|"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Counts counts;
    const auto text = test::output_of(kPerf, std::move(arguments));
    for (const auto line : split(text, '\n')) {
        const auto cells = split(line, '|');
        if (line.starts_with('#') || cells.size() != 4) continue;
        // Of two names at one address perf 6.1 shows the last (__pi_memcpy), we show the plain one.
        auto symbol = trim(cells[3]).substr(4);  // after "[.] "
        if (symbol.starts_with("__pi_")) symbol.remove_prefix(5);
        counts[{std::string(trim(cells[2])), std::string(symbol)}] +=
            parse_number<std::uint64_t>(trim(cells[0])).value_or(0);
    }
    return counts;
}

Counts our_counts(const std::string& file, const SymbolSources& sources) {
    Counts counts;
    auto reader = collector::CaptureReader::open(file);
    if (!reader) return counts;
    const auto profile = analyze_capture(**reader, "capture",
                                         {.samples = {}, .symbols = sources, .split_hybrid = false}, system_clock());
    if (!profile) {
        ADD_FAILURE() << profile.error().message;
        return counts;
    }
    for (const auto& sample : profile->samples) {
        const auto& leaf = profile->functions[profile->stacks[sample.stack].functions.front()];
        counts[{std::string(base_name(leaf.dso)), leaf.name}] += sample.samples;
    }
    return counts;
}

class SymbolSourcesAgainstPerf : public testing::Test {
protected:
    void SetUp() override {
        if (::access(kPerf, X_OK) != 0) GTEST_SKIP() << kPerf << " is not installed";
    }
    static void copy(const std::string& from, const std::string& to) {
        std::filesystem::create_directories(std::filesystem::path(to).parent_path());
        std::filesystem::copy_file(from, to);
    }

    test::TempFolder folder_;
};

TEST_F(SymbolSourcesAgainstPerf, AProgramThatIsOnlyBelowSymfs) {
    // Recorded under a path where nothing is left afterwards.
    const auto program = folder_ / "recorded/app";
    copy(std::string(test::kClientsDir) + "/split70_30", program);
    const auto capture = folder_ / "app.data";
    (void)test::output_of(kPerf, {"record", "-q", "-N", "-B", "-o", capture, "-g", "-F", "999", "-e", "cpu-clock:u",
                                  "--buildid-mmap", "--", program, "2"});
    const auto symfs = folder_ / "root";
    copy(program, symfs + program);
    std::filesystem::remove_all(folder_ / "recorded");

    const auto theirs = counts_of_perf(capture, {"--symfs", symfs});
    const auto ours = our_counts(capture, {.symfs = symfs, .buildid_dir = ""});
    for (const auto* function : {"hot_a", "hot_b"}) {
        const Row row{"app", function};
        ASSERT_TRUE(theirs.contains(row)) << function;
        EXPECT_GT(theirs.at(row), 100U) << function;
        EXPECT_EQ(ours.contains(row) ? ours.at(row) : 0, theirs.at(row)) << function;
    }
    const auto nameless = our_counts(capture, {.buildid_dir = ""});
    EXPECT_FALSE(nameless.contains({"app", "hot_a"}));
    EXPECT_TRUE(nameless.contains({"app", "[unknown]"}));
}

TEST_F(SymbolSourcesAgainstPerf, TheKernelByACopyOfItsKallsyms) {
    const auto text = read_file("/proc/kallsyms", 1U << 30);
    ASSERT_TRUE(text) << text.error().message;
    if (text->starts_with("0000000000000000")) GTEST_SKIP() << "kernel addresses are hidden";
    const auto copied = folder_.write("their-symbols", *text);
    const auto capture = folder_ / "kernel.data";
    (void)test::output_of(kPerf, {"record", "-q", "-N", "-B", "-o", capture, "-a", "-F", "999", "-e", "cpu-clock:k",
                                  "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=4k", "count=1000000"});
    const auto theirs = counts_of_perf(capture, {"--kallsyms", copied});
    const auto ours = our_counts(capture, {.kallsyms = copied, .buildid_dir = ""});
    std::size_t compared = 0;
    for (const auto& [row, samples] : theirs) {
        if (row.first != "[kernel.kallsyms]" || samples < 10 || row.second.starts_with("0x")) continue;
        ++compared;
        EXPECT_EQ(ours.contains(row) ? ours.at(row) : 0, samples) << row.second;
    }
    EXPECT_GE(compared, 3U);
}

TEST_F(SymbolSourcesAgainstPerf, ACaptureOfSeveralThreadsIsOneFolder) {
    for (const bool compressed : {false, true}) {
        const auto capture = folder_ / (compressed ? "threads.z" : "threads");
        std::vector<std::string> arguments{"record", "-q", "-N", "-B",  "--threads", "-o",
                                           capture,  "-a", "-F", "999", "-e",        "cpu-clock"};
        if (compressed) arguments.emplace_back("-z");
        for (const auto* word : {"--", "sleep", "1"}) arguments.emplace_back(word);
        (void)test::output_of(kPerf, arguments);
        ASSERT_TRUE(std::filesystem::is_directory(capture));
        const auto theirs = counts_of_perf(capture, {});
        std::uint64_t expected = 0;
        for (const auto& [row, samples] : theirs) expected += samples;
        std::uint64_t got = 0;
        for (const auto& [row, samples] : our_counts(capture, {})) got += samples;
        EXPECT_GT(expected, 100U);
        EXPECT_EQ(got, expected) << capture;
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
