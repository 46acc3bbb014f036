// SPDX-License-Identifier: GPL-2.0-or-later
// Exports of a real capture, read by the programs they are for: collapsed stacks as a script makes them of stock
// perf's output, totals as Go's pprof adds them up, a window's export through the daemon.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>

#include "base/text.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/outside_parser.hpp"
#include "tests/support/outside_tool.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

using test::Client;
using test::output_of;
using test::ReportView;

// Recorded once for all tests here: two programs whose stacks are known, and whatever else runs.
class Export : public testing::Test {
protected:
    static void SetUpTestSuite() {
        folder_ = new test::TempFolder;
        Client hot("split70_30", {"60"});
        Client deep("recursion", {"60"});
        (void)output_of(test::kPerfvigil,
                        {"record", "-o", capture(), "-a", "-F", "499", "-e", "cpu-clock", "-d", "3s"});
    }
    static void TearDownTestSuite() { delete folder_; }
    static std::string capture() { return *folder_ / "perf.data"; }
    static std::string exported(const std::string& format, std::vector<std::string> more = {}) {
        std::vector<std::string> arguments{"export", capture(), "--to", format};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return output_of(test::kPerfvigil, arguments);
    }

    static test::TempFolder* folder_;
};
test::TempFolder* Export::folder_ = nullptr;

using Stacks = std::map<std::string, std::uint64_t>;

Stacks stacks_in(const std::string& text) {
    Stacks stacks;
    for (const auto line : split(text, '\n')) {
        const auto space = line.rfind(' ');
        stacks[std::string(line.substr(0, space))] += parse_number<std::uint64_t>(line.substr(space + 1)).value();
    }
    return stacks;
}

// Where both mean one function but spell it otherwise: perf adds symbol versions, drops compilers' suffixes from
// demangled names, names PLT stubs (which have no symbol of their own), and of two kernel names at one address shows
// the last (__pi_memcpy). We show clones as their function and mark stacks that reach no root.
std::string plain_names(const std::string& text) {
    static const std::regex version("@+[A-Z][A-Za-z0-9_.]*"), suffix("\\.(constprop|isra|part|cold)(\\.[0-9]+)?"),
        stub(";[^;\n]*@plt"), alias(";__pi_"), end(";\\[(broken|truncated|shortened|rootless)\\]");
    std::string plain = std::regex_replace(text, stub, ";?");
    plain = std::regex_replace(plain, version, "");
    plain = std::regex_replace(plain, suffix, "");
    plain = std::regex_replace(plain, end, "");
    return std::regex_replace(plain, alias, ";");
}

std::string perf_script_collapsed(const std::string& file) {
    return output_of("/bin/sh", {"-c", "perf script -f --no-inline -i " + file +
                                           " -F comm,tid,time,period,event,ip,sym,dso,symoff 2>/dev/null | perl " +
                                           test::collapse_script() + " cpu-clock"});
}

// Whether they are one stack where the script could not name a frame ("?").
bool is_like(std::string_view pattern, std::string_view stack) {
    while (!pattern.empty() && !stack.empty()) {
        const auto wanted = next_piece(pattern, ';'), frame = next_piece(stack, ';');
        if (wanted != "?" && wanted != frame) return false;
    }
    return pattern.empty() && stack.empty();
}

// Takes what is equal out of both.
void take(std::uint64_t& a, std::uint64_t& b) {
    const auto both = std::min(a, b);
    a -= both;
    b -= both;
}

TEST_F(Export, FoldedStacksAreThoseOfPerfScript) {
    auto theirs = stacks_in(plain_names(perf_script_collapsed(capture())));
    auto ours = stacks_in(plain_names(exported("folded", {"--idle"})));
    EXPECT_GT(theirs.size(), 20U);
    std::uint64_t weight = 0, their_weight = 0, different = 0;
    for (const auto& [stack, value] : ours) weight += value;
    for (auto& [stack, value] : theirs) {
        their_weight += value;
        if (const auto same = ours.find(stack); same != ours.end()) take(value, same->second);
    }
    EXPECT_EQ(weight, their_weight);
    for (auto& [pattern, value] : theirs) {
        if (value == 0 || pattern.find('?') == std::string::npos) continue;
        for (auto& [stack, left] : ours) {
            if (left != 0 && is_like(pattern, stack)) take(value, left);
        }
    }
    // The two programs that were there from the start are the same to a sample. Of others a few may differ: within
    // execve perf names the caller by the program that is gone, we say [unknown]; glibc has several names for one
    // address; perf prints no frame at all of some samples.
    std::string differences, notes;
    for (const auto& [stack, value] : ours) {
        different += value;
        if (value == 0) continue;
        const bool known = stack.starts_with("split70_30;") || stack.starts_with("recursion;");
        (known ? differences : notes) += "\n  we " + std::to_string(value) + ": " + stack;
    }
    EXPECT_EQ(differences, "");
    EXPECT_LT(static_cast<double>(different), 0.03 * static_cast<double>(weight)) << notes;
}

TEST_F(Export, PprofAddsUpToTheReport) {
    const auto tool = test::find_pprof();
    if (!tool) GTEST_SKIP() << "needs Go's pprof (./dev deps test)";
    const auto file = *folder_ / "cpu.pb.gz";
    (void)exported("pprof", {"-o", file});
    const auto report = ReportView::of_perfvigil({"report", "--json", capture()});
    const auto& event = report.event("cpu-clock");
    const auto number = [&](const char* field) { return event.at(field).to_number<std::uint64_t>(); };

    std::uint64_t samples = 0, weight = 0;
    bool within = false;
    const auto raw = output_of(*tool, {"-symbolize=none", "-raw", file});
    for (const auto line : split(raw, '\n')) {
        if (line.starts_with("Locations")) break;
        const auto colon = line.find(':');
        auto values = trim(line.substr(0, colon));
        if (within && colon != std::string_view::npos && !values.empty() && values.front() >= '0' &&
            values.front() <= '9') {
            samples += parse_number<std::uint64_t>(next_piece(values, ' ')).value();
            weight += parse_number<std::uint64_t>(trim(values)).value();
        }
        within |= line.starts_with("Samples:");
    }
    EXPECT_EQ(samples, number("samples") - number("idle_samples"));
    EXPECT_EQ(weight, number("event_count") - number("idle_event_count"));

    // "  1.5s 30% 30%  1.6s 32%  name": the most self time first, as the report's.
    const auto top = output_of(*tool, {"-symbolize=none", "-top", "-unit=ns", "-nodefraction=0", file});
    for (const char* function : {"hot_a", "hot_b"}) EXPECT_NE(top.find(function), std::string::npos) << top;
    const auto traces = output_of(*tool, {"-symbolize=none", "-traces", file});
    EXPECT_NE(traces.find("comm:"), std::string::npos);
    EXPECT_NE(output_of(*tool, {"-symbolize=none", "-comments", file}).find("recorded by perfvigil"),
              std::string::npos);
}

TEST_F(Export, EveryFormatHasTheSameTotal) {
    const auto report = ReportView::of_perfvigil({"report", "--json", capture()});
    const auto& event = report.event("cpu-clock");
    const auto expected =
        event.at("event_count").to_number<std::uint64_t>() - event.at("idle_event_count").to_number<std::uint64_t>();
    std::uint64_t folded = 0, dumped = 0, sampled = 0;
    for (const auto& [stack, value] : stacks_in(exported("folded"))) folded += value;
    const auto dump = boost::json::parse(exported("json"));
    for (const auto& sample : dump.at("samples").as_array()) dumped += sample.at("period").to_number<std::uint64_t>();
    const auto speedscope = boost::json::parse(exported("speedscope"));
    for (const auto& value : speedscope.at("profiles").at(0).at("weights").as_array()) {
        sampled += value.to_number<std::uint64_t>();
    }
    EXPECT_EQ(folded, expected);
    EXPECT_EQ(dumped, expected);
    EXPECT_EQ(sampled, expected);
    const test::TempFolder pictures;
    (void)exported("flamegraph.svg", {"-o", pictures / "a.svg"});
    EXPECT_EQ(test::xml_verdict(pictures.path().string(), ".svg"), "1\n");
    EXPECT_FALSE(exported("otlp").empty());
    EXPECT_NE(exported("flamegraph.html").find("</html>"), std::string::npos);
}

// What the command says on standard error.
std::string complaint(const std::string& arguments) {
    return output_of("/bin/sh", {"-c", std::string(test::kPerfvigil) + " " + arguments + " 2>&1 >/dev/null; true"});
}

TEST(ExportOfAWindow, IsTheStoredProfile) {
    test::TempFolder folder;
    test::DaemonProcess daemon(folder);
    daemon.start({});
    const Client hot("split70_30", {"60"});
    ASSERT_TRUE(daemon.wait_windows(1)) << daemon.log();
    const auto id = daemon.stored_windows().back();
    const auto report = daemon.get_json("/v1/windows/" + id + "/report?format=json");
    const ReportView view(boost::json::serialize(report));
    const auto& event = view.event("cpu-clock");
    const auto stacks = output_of(test::kPerfvigil, {"export", id, "--socket", daemon.socket(), "--to", "folded",
                                                     "--idle", "--event", "cpu-clock"});
    std::uint64_t weight = 0;
    for (const auto& [stack, value] : stacks_in(stacks)) weight += value;
    EXPECT_EQ(weight, event.at("event_count").to_number<std::uint64_t>());
    // The report is made here of the same profile.
    EXPECT_EQ(output_of(test::kPerfvigil, {"report", id, "--socket", daemon.socket(), "--json"}),
              daemon.get("/v1/windows/" + id + "/report?format=json").body);
    const std::string socket = " --socket " + daemon.socket();
    EXPECT_EQ(complaint("export 20200101T000000Z --to json" + socket),
              "perfvigil: 20200101T000000Z is no file, and as a window: there is no window 20200101T000000Z\n");
    EXPECT_NE(complaint("export 'a b' --to json" + socket).find("neither a file nor the id of a window"),
              std::string::npos);
    // Never over TCP.
    EXPECT_EQ(daemon.get_tcp("/v1/windows/" + id + "/profile").status, 403U);
}

TEST(ExportComplaints, SayWhatToDo) {
    EXPECT_NE(complaint("export --to folded --socket /nowhere.sock").find("no daemon listens there"),
              std::string::npos);
    EXPECT_NE(complaint("export x.data --to folder").find("--to"), std::string::npos);
    EXPECT_NE(complaint("export /etc/passwd --to folded").find("/etc/passwd"), std::string::npos);
}

}  // namespace
}  // namespace perfvigil
