// SPDX-License-Identifier: GPL-2.0-or-later
// Code made at run time, named by what its process says of it: by our own clients, whose profile is known and which
// stock perf reads too, and by the runtimes that people use.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "base/text.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

using test::Client;
using test::ReportView;

using Counts = std::map<std::string, std::uint64_t>;  // by name

// Self samples of functions whose name or Dso a test is about.
Counts jit_counts(const ReportView& report, std::string_view prefix = "jit_") {
    Counts counts;
    for (const auto& value : report.event("cpu-clock").at("functions").as_array()) {
        const auto& row = value.as_object();
        const std::string symbol(row.at("symbol").as_string());
        if (symbol.starts_with(prefix)) counts[symbol] += row.at("self_samples").to_number<std::uint64_t>();
    }
    return counts;
}

// The same by stock perf.
Counts perf_counts(const std::string& file, std::string_view prefix = "jit_") {
    Counts counts;
    const auto text = test::output_of("/usr/bin/perf", {"report", "-f", "-i", file, "--stdio", "-g", "none",
                                                        "--no-children", "-F", "sample,sym", "-t", "|"});
    for (const auto line : split(text, '\n')) {
        const auto cells = split(line, '|');
        if (line.starts_with('#') || cells.size() != 2) continue;
        const auto symbol = trim(cells[1]).substr(4);  // after "[.] "
        if (symbol.starts_with(prefix))
            counts[std::string(symbol)] += parse_number<std::uint64_t>(trim(cells[0])).value();
    }
    return counts;
}

// What the command printed.
std::string record(const std::string& file, std::vector<std::string> command) {
    std::vector<std::string> arguments{"record", "-e", "cpu-clock", "-F", "997", "-o", file, "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return test::output_of(test::kPerfvigil, arguments);
}

// CPU nanoseconds of a client's functions, in what it printed among other numbers.
std::vector<double> spent(const std::string& output) {
    std::vector<double> numbers;
    for (const double number : Client::numbers(output)) {
        if (number > 1e6) numbers.push_back(number);
    }
    return numbers;
}

// Removes what processes left in /tmp.
class JitTest : public testing::Test {
protected:
    void SetUp() override {
        if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    }
    ~JitTest() override {
        for (const auto& entry : std::filesystem::directory_iterator("/tmp")) {
            const auto name = entry.path().filename().string();
            if (!name.starts_with("perf-") || !name.ends_with(".map") || maps_before_.count(name) != 0) continue;
            const auto pid = name.substr(5, name.size() - 9);
            if (::access(("/proc/" + pid).c_str(), F_OK) != 0) {  // somebody else's lives
                std::error_code ignored;
                std::filesystem::remove(entry.path(), ignored);
            }
        }
    }
    JitTest() {
        for (const auto& entry : std::filesystem::directory_iterator("/tmp")) {
            maps_before_[entry.path().filename().string()] = 1;
        }
    }

    test::TempFolder folder_;
    std::map<std::string, int> maps_before_;
};

// The dump says when code came, moved and was replaced.
TEST_F(JitTest, JitdumpByTime) {
    const auto file = folder_ / "jit.perf.data";
    const auto times = spent(record(file, {test::client_path("jitdump"), "2.4", folder_.path().string()}));
    ASSERT_EQ(times.size(), 3U);
    const auto ours = jit_counts(ReportView::of_perfvigil({"report", "--json", file}));
    ASSERT_EQ(ours.size(), 2U);
    const auto first = static_cast<double>(ours.at("jit_first"));
    const auto second = static_cast<double>(ours.at("jit_second"));
    ASSERT_GT(first + second, 300);
    const double share = times[0] / (times[0] + times[1] + times[2]);
    // Four standard errors of the share of so many samples.
    EXPECT_NEAR(first / (first + second), share, 4 * std::sqrt(share * (1 - share) / (first + second)));
    // All of the client's time but what it spends in between.
    EXPECT_GT((first + second) / 997e-9, 0.9 * (times[0] + times[1] + times[2]));
}

// Read directly, or after perf wrote it into the capture.
TEST_F(JitTest, JitdumpInACaptureOfPerf) {
    // --buildid-mmap: while another session asks for build-ids, kernels flag the records of those that do not as well,
    // and perf 6.1 aborts on what it takes for one.
    const auto file = folder_ / "jit.perf.data";
    const auto dir = folder_.path().string();
    (void)test::output_of("/usr/bin/perf", {"record", "-q", "-k", "mono", "--buildid-mmap", "-g", "-F", "997", "-e",
                                            "cpu-clock", "-o", file, test::client_path("jitdump"), "1.5", dir});
    const auto injected = folder_ / "injected.perf.data";
    (void)test::output_of("/usr/bin/perf", {"inject", "-f", "-j", "-i", file, "-o", injected});
    const auto ours = jit_counts(ReportView::of_perfvigil({"report", "--json", file}));
    EXPECT_EQ(ours.size(), 2U);
    EXPECT_EQ(ours, perf_counts(injected));
    EXPECT_EQ(jit_counts(ReportView::of_perfvigil({"report", "--json", injected})), ours);

    // Of another clock nothing can be placed, and that is said.
    (void)test::output_of("/usr/bin/perf", {"record", "-q", "--buildid-mmap", "-g", "-F", "997", "-e", "cpu-clock",
                                            "-o", file, test::client_path("jitdump"), "0.5", dir});
    const auto report = ReportView::of_perfvigil({"report", "--json", file});
    EXPECT_TRUE(jit_counts(report).empty());
    EXPECT_NE(boost::json::serialize(report.root().at("warnings")).find("-k mono"), std::string::npos);
}

TEST_F(JitTest, PerfMapAfterItsProcess) {
    const auto file = folder_ / "map.perf.data";
    (void)record(file, {test::client_path("jit_map"), "2"});
    const auto ours = jit_counts(ReportView::of_perfvigil({"report", "--json", file}));
    EXPECT_EQ(ours.size(), 2U);  // a map knows no times: its last word counts
    EXPECT_GT(ours.at("jit_second"), 200U);
    EXPECT_GT(ours.at("jit_other"), 50U);
    EXPECT_EQ(ours, perf_counts(file));
}

// The daemon asks slice by slice, so it tells replaced code apart.
TEST_F(JitTest, LiveByTheSlice) {
    test::DaemonProcess daemon(folder_);
    daemon.start({.slice = "1s", .window = "5s", .frequency = "499Hz"});
    ASSERT_TRUE(daemon.wait_ready()) << daemon.log();
    Client map("jit_map", {"6"});
    Client dump("jitdump", {"6", folder_.path().string()});
    const auto map_spent = Client::numbers(map.output());
    const auto dump_spent = Client::numbers(dump.output());
    ASSERT_TRUE(daemon.wait_windows(daemon.stored_windows().size() + 1)) << daemon.log();
    Counts counts;
    for (const auto& id : daemon.stored_windows()) {
        const ReportView report(daemon.get("/v1/windows/" + id + "/report?format=json").body);
        for (const auto& [name, samples] : jit_counts(report)) counts[name] += samples;
    }
    const double first = map_spent.at(0) + dump_spent.at(0);
    const double second = map_spent.at(1) + dump_spent.at(1) + dump_spent.at(2);
    const double all = first + second + map_spent.at(2);
    const auto named = static_cast<double>(counts["jit_first"] + counts["jit_second"] + counts["jit_other"]) / 499e-9;
    // A new process has no names for a moment.
    EXPECT_GT(named, 0.8 * all) << named << " of " << all;
    EXPECT_LT(named, 1.1 * all);
    // Replaced code: one slice on either side may be taken for its neighbour.
    EXPECT_NEAR(static_cast<double>(counts["jit_first"]) / 499e-9, first, 0.2 * all);
    EXPECT_NEAR(static_cast<double>(counts["jit_second"]) / 499e-9, second, 0.25 * all);
}

// Of the samples in code without a file, the share that has a name, of one program.
double named_share(const ReportView& report) {
    double named = 0;
    double all = 0;
    for (const auto& value : report.event("cpu-clock").at("functions").as_array()) {
        const auto& row = value.as_object();
        const std::string_view dso = row.at("dso").as_string();
        if (dso != "[jit]" && !dso.starts_with("//anon")) continue;
        const auto samples = row.at("self_samples").to_number<double>();
        all += samples;
        if (!row.contains("unknown")) named += samples;
    }
    EXPECT_GT(all, 100) << "hardly any code made at run time";
    return all == 0 ? 0 : named / all;
}

TEST_F(JitTest, Node) {
    const std::string node = "/usr/bin/node";
    if (::access(node.c_str(), X_OK) != 0) GTEST_SKIP() << "needs " << node;
    const auto script =
        folder_.write("hot.js",
                      "function hotInScript(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % "
                      "1000003; return s; }\n"
                      "const end = Date.now() + 2000; let t = 0;\n"
                      "while (Date.now() < end) t += hotInScript(100000);\n"
                      "console.log(t > 0);\n");
    const auto file = folder_ / "node.perf.data";
    (void)record(file, {node, "--perf-basic-prof", "--interpreted-frames-native-stack", "--no-logfile-per-isolate",
                        "--logfile=" + (folder_ / "v8.log"), script});
    const auto report = ReportView::of_perfvigil({"report", "--json", file});
    const auto share = named_share(report);
    RecordProperty("named_percent", static_cast<int>(100 * share));
    EXPECT_GT(share, 0.99);
    std::uint64_t hot = 0;
    for (const auto& value : report.event("cpu-clock").at("functions").as_array()) {
        const auto& row = value.as_object();
        if (std::string_view(row.at("symbol").as_string()).contains("hotInScript")) {
            hot += row.at("self_samples").to_number<std::uint64_t>();
        }
    }
    EXPECT_GT(hot, 500U);
}

TEST_F(JitTest, Java) {
    const std::string java = "/usr/bin/java";
    if (::access(java.c_str(), X_OK) != 0) GTEST_SKIP() << "needs " << java;
    const auto source = folder_.write("Hot.java",
                                      "public class Hot {\n"
                                      "  static long hotInJava(int n) { long s = 0; for (int i = 0; i < n; i++) s = (s "
                                      "* 31 + i) % 1000003; return s; }\n"
                                      "  public static void main(String[] a) {\n"
                                      "    long end = System.currentTimeMillis() + 3000, t = 0;\n"
                                      "    while (System.currentTimeMillis() < end) t += hotInJava(100000);\n"
                                      "    System.out.println(t > 0);\n"
                                      "  }\n"
                                      "}\n");
    if (::access("/usr/bin/javac", X_OK) != 0) GTEST_SKIP() << "needs /usr/bin/javac";
    (void)test::output_of("/usr/bin/javac", {"-d", folder_.path().string(), source});
    const auto file = folder_ / "java.perf.data";
    (void)record(file, {java, "-XX:+UnlockDiagnosticVMOptions", "-XX:+PreserveFramePointer", "-XX:+DumpPerfMapAtExit",
                        "-cp", folder_.path().string(), "Hot"});
    const auto report = ReportView::of_perfvigil({"report", "--json", file});
    const auto share = named_share(report);
    RecordProperty("named_percent", static_cast<int>(100 * share));
    EXPECT_GT(share, 0.97);
    std::uint64_t hot = 0;
    for (const auto& value : report.event("cpu-clock").at("functions").as_array()) {
        const auto& row = value.as_object();
        if (std::string_view(row.at("symbol").as_string()).contains("hotInJava")) {
            hot += row.at("self_samples").to_number<std::uint64_t>();
        }
    }
    EXPECT_GT(hot, 500U);
}

}  // namespace
}  // namespace perfvigil
