// SPDX-License-Identifier: GPL-2.0-or-later
// Inlined calls of a real recording: the stacks that `perf script --inline` prints, which asks addr2line (binutils),
// against ours, which come from libdw.
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
using Stacks = std::map<std::string, std::uint64_t>;

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

// Of the program's own code, from main inwards: what lies outside has other symbols in the two tools.
Stacks own_stacks(const std::string& folded) {
    Stacks stacks;
    for (const auto line : split(folded, '\n')) {
        const auto space = line.rfind(' ');
        if (space == std::string_view::npos) continue;
        std::string stack;
        bool inside = false;
        for (auto name : split(line.substr(0, space), ';')) {
            if (name.ends_with(" (inlined)")) name.remove_suffix(10);
            const auto function = bare(name);
            inside |= function == "main";
            if (inside) stack += ';' + function;
        }
        // A sample in the kernel ends in another function each time.
        if (stack.ends_with("grind")) {
            stacks[stack] += parse_number<std::uint64_t>(line.substr(space + 1)).value();
        }
    }
    return stacks;
}

std::uint64_t sum(const Stacks& stacks) {
    std::uint64_t all = 0;
    for (const auto& [stack, count] : stacks) all += count;
    return all;
}

TEST_F(Inline, StacksAreThoseOfPerfScript) {
    const auto script = output_of("/usr/bin/perf", {"script", "--inline", "-i", capture()});
    const auto text = *folder_ / "script.txt";
    folder_->write("script.txt", script);
    const auto theirs = own_stacks(output_of(test::kPerfvigil, {"export", text, "--to", "folded", "--samples"}));
    const auto ours =
        own_stacks(output_of(test::kPerfvigil, {"export", capture(), "--to", "folded", "--samples", "--inline"}));
    ASSERT_GT(sum(ours), 1000U);
    EXPECT_GE(ours.size(), 3U);
    std::uint64_t differing = 0;
    for (const auto& [stack, count] : ours) {
        const auto found = theirs.find(stack);
        const auto there = found == theirs.end() ? 0 : found->second;
        differing += std::max(count, there) - std::min(count, there);
    }
    // Where DWARF gives an instruction to a block and to the line table's gap beside it, the two may choose otherwise.
    EXPECT_LE(differing, sum(ours) / 50) << "of " << sum(ours);
    const auto without = own_stacks(output_of(test::kPerfvigil, {"export", capture(), "--to", "folded", "--samples"}));
    EXPECT_TRUE(without.empty()) << "without --inline nothing ends in an inlined function";
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
    EXPECT_EQ(grind({"report", "--inline", "--json", capture}), 0U);
}

TEST_F(Inline, GoPprofSeesInlinedLines) {
    const auto pprof = test::find_pprof();
    if (!pprof) GTEST_SKIP() << "go tool pprof is not installed";
    const auto file = *folder_ / "inlining.pb.gz";
    (void)output_of(test::kPerfvigil, {"export", capture(), "--to", "pprof", "--inline", "--srcline", "-o", file});
    const auto raw = output_of(*pprof, {"-raw", file});
    EXPECT_NE(raw.find("mill::grind /"), std::string::npos) << raw;
    // The lines of one location stand below each other: the innermost first.
    const auto location = raw.find("mill::grind /");
    const auto next = raw.find("\n", location);
    const auto caller = raw.substr(next + 1, raw.find("\n", next + 1) - next - 1);
    EXPECT_NE(caller.find("mill::"), std::string::npos) << caller;
    EXPECT_TRUE(caller.starts_with("       ")) << "no new location: " << caller;
    const auto top = output_of(*pprof, {"-top", "-lines", file});
    EXPECT_NE(top.find("inlining.cpp:"), std::string::npos) << top;
}

}  // namespace
}  // namespace perfvigil
