// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks without frame pointers, unwound by us and by stock perf from the same captures, one made by perf, one by us:
// every whole chain that perf shows is ours too, function by function, and no fewer chains are whole. How long each
// takes is printed, not judged.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <string>

#include "analyzer/capture_analysis.hpp"
#include "base/text.hpp"
#include "collector/capture_reader.hpp"
#include "tests/support/client.hpp"
#include "tests/support/live_recording.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

constexpr std::string_view kComm = "unwind_nofp";
constexpr const char* kPerf = "/usr/bin/perf";

// Samples by chain; a chain is what it has of the client's own functions, outermost first.
using Chains = std::map<std::string, std::uint64_t>;

bool is_own(std::string_view name) { return name.starts_with("nofp_") || name == "main"; }
// What starts either thread.
bool is_whole(const std::string& chain) { return chain.starts_with("main;") || chain.starts_with("nofp_thread;"); }

std::uint64_t sum(const Chains& chains, bool (*counts)(const std::string&)) {
    std::uint64_t samples = 0;
    for (const auto& [chain, count] : chains) samples += counts(chain) ? count : 0;
    return samples;
}

// Blocks of "comm", then "ip symbol" lines innermost first, an empty line behind each.
Chains of_perf_script(const std::string& text) {
    Chains chains;
    std::string chain;
    bool open = false;
    bool ours = false;
    for (const auto line : split(text, '\n')) {
        if (trim(line).empty()) {
            if (open && ours) ++chains[chain];
            open = false;
            chain.clear();
        } else if (!open) {
            open = true;
            ours = trim(line).starts_with(kComm);
        } else {
            auto rest = trim(line);
            (void)next_piece(rest, ' ');
            if (is_own(trim(rest))) chain = std::string(trim(rest)) + ";" + chain;
        }
    }
    return chains;
}

Chains of_ours(const std::string& file) {
    auto reader = collector::CaptureReader::open(file);
    if (!reader) throw std::runtime_error(reader.error().message);
    auto profile = analyzer::analyze_capture(**reader, "id", {}, system_clock());
    if (!profile) throw std::runtime_error(profile.error().message);
    for (const auto& warning : profile->warnings) std::cout << "warning: " << warning << '\n';
    Chains chains;
    for (const auto& sample : profile->samples) {
        if (profile->contexts[sample.context].comm != kComm) continue;
        std::string chain;
        for (const auto number : profile->stacks[sample.stack].functions) {  // innermost first
            const auto& name = profile->functions[number].name;
            if (is_own(name)) chain = std::string(name) + ";" + chain;
        }
        chains[chain] += sample.samples;
    }
    return chains;
}

template <class Run>
double seconds(Run&& run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void expect_no_less_than_perf(const std::string& file, const std::string& maker) {
    std::string text;
    const double theirs_took = seconds(
        [&] { text = test::output_of(kPerf, {"script", "-f", "-i", file, "--no-inline", "-F", "comm,ip,sym"}); });
    const double ours_took = seconds(
        [&] { (void)test::output_of(test::kPerfvigil, {"export", "--to", "folded", "-o", file + ".folded", file}); });
    const Chains theirs = of_perf_script(text);
    const Chains ours = of_ours(file);
    const auto all = [](const std::string&) { return true; };
    const auto whole = [](const std::string& chain) { return is_whole(chain); };
    const std::uint64_t samples = sum(ours, all);
    std::cout << maker << ": " << samples << " samples, whole by perf script " << sum(theirs, whole) << ", by us "
              << sum(ours, whole) << "; " << theirs_took << " s and " << ours_took << " s, " << theirs_took / ours_took
              << " times as fast\n";

    EXPECT_GT(samples, 400U);
    EXPECT_EQ(samples, sum(theirs, all));
    EXPECT_GE(sum(ours, whole), sum(theirs, whole));
    EXPECT_GE(sum(ours, whole), samples - samples / 50) << "start-up and end of each thread lie outside main";
    for (const auto& [chain, count] : theirs) {
        if (!is_whole(chain)) continue;
        const auto found = ours.find(chain);
        EXPECT_GE(found == ours.end() ? 0 : found->second, count) << chain;
    }
    // What the client does is there at all.
    const auto seen = [&](std::string_view part) {
        return std::ranges::any_of(
            ours, [&](const auto& entry) { return is_whole(entry.first) && entry.first.contains(part); });
    };
    std::string recursion = "nofp_round;";
    for (int i = 0; i < 25; ++i) recursion += "nofp_recurse;";
    EXPECT_TRUE(seen(recursion + "nofp_leaf;"));
    EXPECT_TRUE(seen("nofp_sort;nofp_compare;")) << "out of libc's qsort";
    EXPECT_TRUE(seen("nofp_variable;nofp_leaf;"));
    EXPECT_TRUE(seen("nofp_raise;nofp_handler;nofp_leaf;")) << "through a signal frame, and raise()";
    EXPECT_TRUE(seen("nofp_leaf;nofp_handler;nofp_leaf;")) << "interrupted, not called";
}

bool perf_is_here() { return ::access(kPerf, X_OK) == 0; }

TEST(Unwind, CapturesOfPerf) {
    if (!perf_is_here()) GTEST_SKIP() << "needs perf";
    if (const std::string why = test::why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    const test::TempFolder folder;
    const auto file = folder / "perf.data";
    (void)test::output_of(kPerf, {"record", "-q", "-N", "-o", file, "-F", "299", "-e", "cpu-clock", "--call-graph",
                                  "dwarf", "--", test::client_path("unwind_nofp"), "2"});
    expect_no_less_than_perf(file, "perf record");
}

TEST(Unwind, CapturesOfOurs) {
    if (!perf_is_here()) GTEST_SKIP() << "needs perf";
    if (const std::string why = test::why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    const test::TempFolder folder;
    const auto file = folder / "ours.data";
    const auto said =
        test::output_of(test::kPerfvigil, {"record", "-o", file, "-F", "299", "-e", "cpu-clock", "--call-graph",
                                           "dwarf", "--", test::client_path("unwind_nofp"), "2"});
    EXPECT_TRUE(said.contains(" 0 lost")) << said;
    expect_no_less_than_perf(file, "perfvigil record");
}

// Without a file the recording itself unwinds.
TEST(Unwind, AReportOfARecordingThatIsNotKept) {
    if (const std::string why = test::why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    // What follows "--" is the program's, whatever it looks like.
    const auto report =
        test::ReportView::of_perfvigil({"record", "--json", "-F", "199", "--call-graph", "dwarf,16384", "-e",
                                        "cpu-clock", "--", test::client_path("unwind_nofp"), "2", "-o", "not_ours"});
    const auto main_total = report.function("cpu-clock", "main", "total_samples");
    const auto thread_total = report.function("cpu-clock", "nofp_thread", "total_samples");
    const auto& event = report.event("cpu-clock");
    const auto samples = event.at("samples").to_number<std::uint64_t>();
    EXPECT_GT(samples, 200U);
    EXPECT_GE(main_total + thread_total, samples - samples / 20);
}

}  // namespace
}  // namespace perfvigil
