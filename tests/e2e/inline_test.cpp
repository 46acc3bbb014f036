// SPDX-License-Identifier: GPL-2.0-or-later
// Inlined calls of a real recording: the innermost function of each sample by addr2line (binutils) at the addresses
// that stock perf prints, against ours, which come from libdw. (perf 6.1's own --inline prints none with
// binutils 2.40.)
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <map>

#include "base/text.hpp"
#include "tests/support/client.hpp"
#include "tests/support/outside_tool.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

using test::output_of;
class Inline : public testing::Test {
protected:
    static void SetUpTestSuite() {
        folder_ = new test::TempFolder;
        (void)output_of(test::kPerfvigil, {"record", "-F", "999", "-e", "cpu-clock", "-o", capture(), "--",
                                           test::client_path("inlining"), "3"});
    }
    static void TearDownTestSuite() { delete folder_; }
    static std::string capture() { return *folder_ / "inlining.perf.data"; }

    static test::TempFolder* folder_;
};
test::TempFolder* Inline::folder_ = nullptr;

// perf spells functions with their parameters, and a template's with what it returns.
std::string bare(std::string_view name) {
    auto text = std::string(name.substr(0, name.starts_with('(') ? name.size() : name.find('(')));
    if (const auto space = text.rfind(' '); space != std::string::npos) text.erase(0, space + 1);
    return text;
}

using Counts = std::map<std::string, std::uint64_t>;

// Where the program's functions begin, by name.
std::map<std::string, std::uint64_t> starts_of(const std::string& program) {
    std::map<std::string, std::uint64_t> starts;
    const auto text = output_of("/usr/bin/nm", {"-C", "--defined-only", program});
    for (const auto line : split(text, '\n')) {
        if (line.size() > 19) starts[bare(line.substr(19))] = std::stoull(std::string(line.substr(0, 16)), nullptr, 16);
    }
    return starts;
}

// The addresses that were sampled in the program's own functions, as perf says: "1182 mill::work+0x29".
std::map<std::uint64_t, std::uint64_t> addresses_of_perf(const std::string& file, const std::string& program) {
    const auto starts = starts_of(program);
    std::map<std::uint64_t, std::uint64_t> samples;
    const auto text = output_of("/usr/bin/perf", {"script", "-f", "-i", file, "-F", "ip,sym,symoff", "-G"});
    for (const auto line : split(text, '\n')) {
        const auto words = split(trim(line), ' ');
        const auto plus = words.back().rfind("+0x");
        if (words.size() != 2 || plus == std::string_view::npos) continue;
        const auto start = starts.find(std::string(words[1].substr(0, plus)));
        if (start == starts.end()) continue;
        ++samples[start->second + std::stoull(std::string(words[1].substr(plus + 3)), nullptr, 16)];
    }
    return samples;
}

// Samples by the innermost function at their address, as addr2line -i says.
Counts innermost_of_addr2line(const std::map<std::uint64_t, std::uint64_t>& samples, const std::string& program) {
    std::vector<std::string> arguments{"-a", "-i", "-f", "-C", "-e", program};
    for (const auto& [address, count] : samples) arguments.push_back(fmt::format("{:#x}", address));
    const auto text = output_of("/usr/bin/addr2line", arguments);
    const auto lines = split(text, '\n');
    Counts counts;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        if (!lines[i].starts_with("0x")) continue;
        counts[bare(lines[i + 1])] += samples.at(std::stoull(std::string(lines[i]), nullptr, 16));
    }
    return counts;
}

TEST_F(Inline, InnermostFunctionsAreThoseOfAddr2line) {
    const auto program = test::client_path("inlining");
    const auto samples = addresses_of_perf(capture(), program);
    const auto theirs = innermost_of_addr2line(samples, program);
    const auto report = test::ReportView::of_perfvigil({"report", "--json", "--inline", "--dso", program, capture()});
    Counts ours;
    for (const auto& row : report.event("cpu-clock").at("functions").as_array()) {
        const auto count = row.at("self_samples").to_number<std::uint64_t>();
        if (count != 0) ours[bare(row.at("symbol").as_string())] += count;
    }
    EXPECT_EQ(ours, theirs);
    EXPECT_GT(ours["mill::grind"], 1000U);
}

TEST_F(Inline, SharesStayRight) {
    const auto plain = test::ReportView::of_perfvigil({"report", "--json", capture()});
    const auto inlined = test::ReportView::of_perfvigil({"report", "--json", "--inline", capture()});
    const auto of = [](const test::ReportView& view, std::string_view name, std::string_view field, bool inlined_too) {
        std::uint64_t samples = 0;
        for (const auto& row : view.event("cpu-clock").at("functions").as_array()) {
            if (row.at("symbol").as_string() != name) continue;
            if (row.as_object().contains("inlined") != inlined_too) continue;
            samples += row.at(field).to_number<std::uint64_t>();
        }
        return samples;
    };
    EXPECT_EQ(inlined.event("cpu-clock").at("samples"), plain.event("cpu-clock").at("samples"));
    EXPECT_EQ(of(inlined, "mill::work", "total_samples", false), of(plain, "mill::work", "total_samples", false));
    EXPECT_EQ(of(inlined, "descend", "total_samples", false), of(plain, "descend", "total_samples", false));
    const auto grind = of(inlined, "mill::grind", "self_samples", true);
    EXPECT_GT(grind, of(plain, "mill::work", "self_samples", false) * 8 / 10);
    EXPECT_EQ(of(plain, "mill::grind", "self_samples", false), 0U);
    std::uint64_t self = 0;
    for (const auto& row : inlined.event("cpu-clock").at("functions").as_array()) {
        self += row.at("self_samples").to_number<std::uint64_t>();
    }
    EXPECT_EQ(self, plain.event("cpu-clock").at("samples").to_number<std::uint64_t>());
}

TEST_F(Inline, TextNamesInlinedFunctionsAndLines) {
    const auto text = output_of(test::kPerfvigil, {"report", "--inline", "--srcline", capture()});
    EXPECT_NE(text.find("mill::grind inlining.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find(" (inlined)"), std::string::npos) << text;
    EXPECT_NE(text.find("main inlining.cpp:"), std::string::npos) << text;
    const auto by = output_of(test::kPerfvigil, {"report", "--inline", "--by", "symbol,srcline", capture()});
    EXPECT_NE(by.find("mill::grind (inlined)"), std::string::npos) << by;
}

TEST_F(Inline, ASeparateDebugFileIsUsed) {
    constexpr const char* kObjcopy = "/usr/bin/objcopy";
    const auto program = *folder_ / "stripped";
    (void)output_of(kObjcopy, {"--strip-debug", test::client_path("inlining"), program});
    const auto notes = output_of("/usr/bin/readelf", {"-n", program});
    const auto at = notes.find("Build ID: ");
    ASSERT_NE(at, std::string::npos);
    const auto id = notes.substr(at + 10, 40);
    const auto cache = *folder_ / "cache";
    const auto debug = cache + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + "/debug";
    std::filesystem::create_directories(std::filesystem::path(debug).parent_path());
    (void)output_of(kObjcopy, {"--only-keep-debug", test::client_path("inlining"), debug});
    const auto capture = *folder_ / "stripped.perf.data";
    (void)output_of(test::kPerfvigil, {"record", "-F", "999", "-e", "cpu-clock", "-o", capture, "--", program, "1"});
    const auto grind = [](std::vector<std::string> arguments) {
        return test::ReportView::of_perfvigil(std::move(arguments))
            .function("cpu-clock", "mill::grind", "self_samples");
    };
    EXPECT_GT(grind({"report", "--inline", "--json", capture, "--buildid-dir", cache}), 300U);
    EXPECT_EQ(grind({"report", "--inline", "--json", capture, "--buildid-dir", ""}), 0U);
}

TEST_F(Inline, GoPprofSeesInlinedLines) {
    const auto pprof = test::find_pprof();
    if (!pprof) GTEST_SKIP() << "go tool pprof is not installed";
    const auto file = *folder_ / "inlining.pb.gz";
    (void)output_of(test::kPerfvigil, {"export", capture(), "--to", "pprof", "--inline", "--srcline", "-o", file});
    const auto raw = output_of(*pprof, {"-raw", file});
    EXPECT_NE(raw.find("mill::grind "), std::string::npos) << raw;
    // The lines of one location stand below each other: the innermost first.
    const auto location = raw.find("mill::grind ");
    const auto next = raw.find("\n", location);
    const auto caller = raw.substr(next + 1, raw.find("\n", next + 1) - next - 1);
    EXPECT_NE(caller.find("mill::"), std::string::npos) << caller;
    EXPECT_TRUE(caller.starts_with("       ")) << "no new location: " << caller;
    const auto top = output_of(*pprof, {"-top", "-lines", file});
    EXPECT_NE(top.find("inlining.cpp:"), std::string::npos) << top;
}

}  // namespace
}  // namespace perfvigil
