// SPDX-License-Identifier: GPL-2.0-or-later
// Every text of the corpus against the results that upstream's collapsing scripts have for it, or against what its
// lines add up to. A difference is a fault of ours, or it is argued in corpus_text_differences.txt; what is listed
// there and does not occur is a failure too.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json/object.hpp>

#include "analyzer/function_name.hpp"
#include "analyzer/input/load.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "tests/support/argued_differences.hpp"
#include "tests/support/collapsed.hpp"
#include "tests/support/corpus.hpp"

namespace perfvigil::analyzer {
namespace {

namespace json = boost::json;
using namespace perfvigil::test;
using testing::HasSubstr;

std::string text_at(const json::object& object, std::string_view key) {
    const auto* found = object.if_contains(key);
    return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

std::string text_of_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

Result<Profile> load(const std::string& id) {
    return load_profile(corpus_folder() + "/text/" + id, {}, system_clock());
}

// Differences of one fold, one line each.
void compare(const std::string& what, const Folds& expected, const Folds& got, std::vector<std::string>& lines) {
    const auto line = [&](const std::string& stack, std::uint64_t a, std::uint64_t b) {
        lines.push_back(fmt::format("{}: {}: {} expected, {} read", what, escape(stack), a, b));
    };
    for (const auto& [stack, weight] : expected) {
        const auto found = got.find(stack);
        const std::uint64_t other = found == got.end() ? 0 : found->second;
        if (other != weight) line(stack, weight, other);
    }
    for (const auto& [stack, weight] : got) {
        if (!expected.contains(stack)) line(stack, 0, weight);
    }
}

// The variants of upstream's results that differ in marks alone; those with addresses, pids or tids in their names are
// the same stacks again.
std::optional<CollapseMarks> marks_of(const std::string& file) {
    if (file.ends_with("-all.txt")) return CollapseMarks{.kernel = true, .jit = true};
    if (file.ends_with("-kernel.txt")) return CollapseMarks{.kernel = true, .jit = false};
    if (file.ends_with("-jit.txt")) return CollapseMarks{.kernel = false, .jit = true};
    if (file.ends_with("-collapsed.txt")) return CollapseMarks{};
    return std::nullopt;
}

void compare_script(const json::object& entry, std::vector<std::string>& lines) {
    const std::string id = text_at(entry, "id");
    const auto profile = load(id);
    const std::string folder = corpus_folder() + "/text/";
    const std::string reference = folder + "reference_fold/" + id + ".folded";
    if (!profile) {
        lines.push_back(fmt::format("{}: refused", id));
        return;
    }
    if (std::filesystem::exists(reference)) {
        compare(id, grouped(parse_collapsed(text_of_file(reference))),
                collapsed(*profile, 0, {.kernel = true, .jit = true}), lines);
    }
    for (const auto& file : entry.at("expected_files").as_array()) {
        const std::string name(base_name(std::string_view(file.as_string())));
        if (const auto marks = marks_of(name)) {
            compare(name, grouped(parse_collapsed(text_of_file(folder + "expected/" + name))),
                    collapsed(*profile, 0, *marks), lines);
        }
    }
}

TEST(CorpusTexts, ScriptsFoldAsUpstreamFoldsThem) {
    if (!has_corpus()) GTEST_SKIP() << corpus_absent();
    ArguedDifferences argued("corpus_text_differences.txt");
    std::size_t files = 0;
    const auto manifest = corpus_manifest();
    for (const auto& entry : manifest.as_object().at("texts").as_array()) {
        if (text_at(entry.as_object(), "kind") != "script") continue;
        ++files;
        std::vector<std::string> lines;
        compare_script(entry.as_object(), lines);
        for (const auto& line : lines) argued.found(line);
    }
    argued.expect_all_found();
    EXPECT_EQ(files, 26U);
}

TEST(CorpusTexts, FoldedFilesAddUp) {
    if (!has_corpus()) GTEST_SKIP() << corpus_absent();
    for (const char* id : {"26_jlfwong_simple.txt", "27_jlfwong_simple-crlf.txt", "28_jlfwong_simple-with-invalids.txt",
                           "29_jlfwong_recursion.txt"}) {
        const auto profile = load(id);
        ASSERT_TRUE(profile.has_value()) << id;
        EXPECT_EQ(folds_of(*profile), parse_collapsed(text_of_file(corpus_folder() + "/text/" + id))) << id;
    }
    const auto invalid = load("28_jlfwong_simple-with-invalids.txt");
    EXPECT_THAT(invalid->warnings, testing::ElementsAre(HasSubstr("line 8: \"invalid line\"")));
    // A function on its own stack several times counts each sample once.
    const auto recursion = load("29_jlfwong_recursion.txt");
    for (const auto& row : function_totals(*recursion, 0, IdleRows::kExclude)) {
        EXPECT_LE(row.total_weight, recursion->events[0].weight);
        if (recursion->functions[row.function].name == "a") {
            EXPECT_EQ(row.total_weight, 9U);
        }
    }
}

TEST(CorpusTexts, ReportsHaveTheirRows) {
    if (!has_corpus()) GTEST_SKIP() << corpus_absent();
    const std::string id = "32_legale_perf_report.txt";
    const auto profile = load(id);
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    ASSERT_EQ(profile->events.size(), 1U);
    EXPECT_EQ(profile->events[0].name, "cpu-clock:pppH");
    // "7K", and four hundred rows rounded to 0.01 %.
    EXPECT_NEAR(static_cast<double>(profile->events[0].samples), 7000, 50);
    EXPECT_NEAR(static_cast<double>(profile->events[0].weight), 1847250000.0, 0.02 * 1847250000.0);
    // The rows again, by another reader.
    std::map<std::string, double> percents;
    std::istringstream in(text_of_file(corpus_folder() + "/text/" + id));
    const std::regex row(R"(^ +([0-9.]+)%  (\S+) +(\S+) +\[(.)\] (.*)$)");
    for (std::string line; std::getline(in, line);) {
        std::smatch match;
        if (!std::regex_match(line, match, row)) continue;
        const bool address = match[5].str().starts_with("0x");
        const std::string symbol = match[5].str();
        percents[match[2].str() + ";" + std::string(address ? "[unknown]" : function_group(trim(symbol)))] +=
            std::stod(match[1]);
    }
    Folds expected;
    const Folds got = folds_of(*profile);
    for (const auto& [stack, percent] : percents) {
        if (stack.ends_with("[unknown]")) continue;  // sums of many rounded rows
        expected[stack] = static_cast<std::uint64_t>(std::llround(percent / 100 * 1847250000.0));
        const auto found = got.find(stack);
        ASSERT_NE(found, got.end()) << stack;
        EXPECT_NEAR(static_cast<double>(found->second), static_cast<double>(expected[stack]), 4.0) << stack;
    }
    EXPECT_GT(expected.size(), 20U);

    const auto old = load("30_eclipse-linuxtools_perf.data.txt");
    ASSERT_TRUE(old.has_value()) << old.error().message;
    EXPECT_EQ(old->events[0].name, "cycles");
    EXPECT_EQ(folds_of(*old), (Folds{{"hellotest;fib_rec", 9901},
                                     {"hellotest;cmpxchg_double_slab", 86},
                                     {"hellotest;do_lookup_x", 11},
                                     {"hellotest;parse_events", 2},
                                     {"hellotest;native_write_msr_safe", 0}}));
    EXPECT_EQ(sample_folds_of(*old).at("hellotest;native_write_msr_safe"), 12U);
    EXPECT_EQ(old->host.cpu_description, "Intel(R) Core(TM) i5-2500 CPU @ 3.30GHz");
}

TEST(CorpusTexts, WhatHoldsNoProfileIsRefusedWithASentence) {
    if (!has_corpus()) GTEST_SKIP() << corpus_absent();
    const std::map<std::string, std::string> words{
        {"11_jonhoo_unknown-format.txt", "line 2 is \"this\""},
        {"31_catapult-project_sample_perf_report_output.txt", "line 1 is \"Failed to open"},
        {"33_eclipse-linuxtools_perf_simple.stat", "perf stat"},
    };
    for (const auto& [id, expected] : words) {
        const auto profile = load(id);
        ASSERT_FALSE(profile.has_value()) << id;
        EXPECT_THAT(profile.error().message, HasSubstr(id));
        EXPECT_THAT(profile.error().message, HasSubstr(expected));
    }
}

// Counts and nanoseconds as pprof's own text form of the same file has them: "  542 5420000000: 19 17 …".
TEST(CorpusTexts, OldCpuProfilesHaveTheStacksThatPprofFinds) {
    if (!has_corpus()) GTEST_SKIP() << corpus_absent();
    for (const char* name : {"cppbench.cpu", "go.crc32.cpu", "gobench.cpu"}) {
        const std::string path = corpus_folder() + "/export/pprof/" + name;
        std::uint64_t samples = 0;
        std::uint64_t weight = 0;
        std::istringstream in(text_of_file(path + ".string"));
        const std::regex row(R"(^ *([0-9]+) +([0-9]+): ([0-9 ]+)$)");
        for (std::string line; std::getline(in, line);) {
            std::smatch match;
            if (!std::regex_match(line, match, row)) continue;
            samples += std::stoull(match[1]);
            weight += std::stoull(match[2]);
        }
        ASSERT_NE(samples, 0U) << name;
        const auto profile = load_profile(path, {}, system_clock());
        ASSERT_TRUE(profile.has_value()) << profile.error().message;
        EXPECT_EQ(profile->events[0].samples, samples) << name;
        EXPECT_EQ(profile->events[0].weight, weight) << name;
        if (std::string_view(name) == "cppbench.cpu") {
            EXPECT_GT(profile->functions.size(), 2U);  // the others have no mappings
        }
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
