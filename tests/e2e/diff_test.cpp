// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil diff on real recordings: pairs of one load, a load that changed, the same two captures read by perf diff,
// windows of a daemon.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/text.hpp"
#include "collector/blocked_child.hpp"
#include "tests/support/client.hpp"
#include "tests/support/daemon_process.hpp"
#include "tests/support/length.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

using test::Client;
using test::DaemonProcess;
using test::TempFolder;

boost::json::object diff_json(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"diff", "--json"});
    return boost::json::parse(test::output_of(test::kPerfvigil, std::move(arguments))).as_object();
}
const boost::json::object& first_event(const boost::json::object& diff) {
    return diff.at("events").as_array().at(0).as_object();
}

int exit_code_of(std::vector<std::string> arguments) {
    Client command(test::kPerfvigil, std::move(arguments));
    (void)command.output();
    return collector::exit_code_of(command.exit_status());
}

void record(const std::string& file, pid_t pid, const std::string& duration) {
    (void)test::output_of(test::kPerfvigil, {"record", "-o", file, "-e", "cpu-clock", "-F", "999", "-p",
                                             std::to_string(pid), "-d", duration});
}

TEST(DiffEndToEnd, PairsOfOneLoadShowNothing) {
    const TempFolder folder;
    Client load("split70_30", {"600"});
    int flagged = 0;
    const int pairs = test::by_length(8, 20);
    for (int pair = 0; pair < pairs; ++pair) {
        record(folder / "before", load.pid(), "1500ms");
        record(folder / "after", load.pid(), "1500ms");
        const auto diff = diff_json({folder / "before", folder / "after"});
        const auto& event = first_event(diff);
        EXPECT_FALSE(event.at("sampling_error_only").as_bool());
        EXPECT_GE(event.at("before").at("slices").to_number<int>(), 12);
        EXPECT_GE(event.at("tested").to_number<int>(), 2);
        if (event.at("significant").to_number<int>() == 0) continue;
        ++flagged;
        std::printf("pair %d: %s\n", pair, boost::json::serialize(event.at("rows").as_array().at(0)).c_str());
    }
    EXPECT_LE(flagged, test::by_length(2, 3));
}

TEST(DiffEndToEnd, AChangedLoadIsFoundAndBreaksTheRule) {
    const TempFolder folder;
    Client load("split70_30", {"600", "0"});
    record(folder / "before", load.pid(), "2s");
    Client other("recursion", {"20", "600"});
    (void)test::output_of(test::kPerfvigil,
                          {"record", "-o", folder / "after", "-e", "cpu-clock", "-F", "999", "-p",
                           std::to_string(load.pid()) + "," + std::to_string(other.pid()), "-d", "2s"});
    const auto diff = diff_json({folder / "before", folder / "after"});
    std::set<std::string> changed;
    for (const auto& row : first_event(diff).at("rows").as_array()) {
        if (row.at("significant").as_bool()) changed.insert(std::string(row.at("name").as_string()));
    }
    EXPECT_TRUE(changed.contains("hot_a"));
    EXPECT_EQ(exit_code_of({"diff", "--fail-on", "regression>2%", folder / "before", folder / "after"}), 3);
    EXPECT_EQ(exit_code_of({"diff", "--fail-on", "regression>99%", folder / "before", folder / "after"}), 0);
    EXPECT_EQ(exit_code_of({"diff", "--fail-on", "regression>2%", folder / "before", folder / "before"}), 0);
    EXPECT_EQ(exit_code_of({"diff", "--fail-on", "something", folder / "before", folder / "after"}), 1);
    EXPECT_EQ(exit_code_of({"diff", folder / "before", folder / "nothing.there"}), 2);
    EXPECT_EQ(exit_code_of({"diff", "--event", "cycles", folder / "before", folder / "after"}), 2);

    const auto picture = folder / "diff.svg";
    EXPECT_EQ(exit_code_of({"diff", "--flamegraph", picture, folder / "before", folder / "after"}), 0);
    std::ifstream in(picture);
    const std::string svg((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_NE(svg.find("<svg"), std::string::npos);
    EXPECT_NE(svg.find("hot_a"), std::string::npos);

    const auto same = test::output_of(test::kPerfvigil, {"diff", folder / "before", folder / "before"});
    EXPECT_NE(same.find("Nothing changed that these samples could show"), std::string::npos) << same;
}

// `perf diff`: shares in percent with two decimals, by symbol and DSO.
struct PerfRow {
    double before = 0;
    double after = 0;
};
using PerfRows = std::map<std::pair<std::string, std::string>, PerfRow>;

PerfRows perf_diff(const std::string& before, const std::string& after) {
    PerfRows rows;
    const auto text = test::output_of("/usr/bin/perf", {"diff", "-f", "-t", "|", "-s", "dso,symbol", before, after});
    for (const auto line : split(text, '\n')) {
        const auto cells = split(line, '|');
        if (line.starts_with('#') || cells.size() != 4) continue;
        const auto symbol = trim(cells[3]).substr(4);  // after "[.] "
        if (symbol.starts_with("0x")) continue;
        const auto number = [](std::string_view cell) { return cell.empty() ? 0 : std::stod(std::string(cell)); };
        const double baseline = number(trim(cells[0]));
        const auto delta = trim(cells[1]);
        rows[{std::string(trim(cells[2])), std::string(symbol)}] = {
            .before = baseline, .after = delta.empty() ? 0 : baseline + number(delta.substr(0, delta.size() - 1))};
    }
    return rows;
}

// Whether perf may take names from separate files of debug symbols, which we do not read.
bool has_debug_file(const std::string& dso) {
    static const bool kInstalled = std::filesystem::exists("/usr/lib/debug/.build-id");
    return kInstalled && (dso.starts_with("lib") || dso.starts_with("ld-"));
}

TEST(DiffEndToEnd, SharesAndSignsArePerfDiffs) {
    const TempFolder folder;
    Client load("split70_30", {"600"});
    Client other("recursion", {"20", "600"});
    const auto perf_record = [&](const std::string& file, const std::string& pids) {
        (void)test::output_of("/usr/bin/perf", {"record", "-q", "-g", "-F", "999", "-e", "cpu-clock", "-o", file, "-p",
                                                pids, "--", "sleep", "2"});
    };
    const auto one = std::to_string(load.pid());
    const auto before = folder / "before.data";
    const auto after = folder / "after.data";
    perf_record(before, one);
    perf_record(after, one + "," + std::to_string(other.pid()));

    const auto theirs = perf_diff(before, after);
    const auto ours = diff_json({before, after});
    std::size_t compared = 0;
    for (const auto& value : first_event(ours).at("rows").as_array()) {
        const auto& row = value.as_object();
        const std::string dso(row.at("dso").as_string());
        const std::string name(row.at("name").as_string());
        const auto found = theirs.find({dso, name});
        // Of two names at one address perf may show the other one.
        if (has_debug_file(dso) || found == theirs.end()) continue;
        ++compared;
        const auto& share = row.at("share").as_object();
        const double in_before = 100 * share.at("before").to_number<double>();
        const double in_after = 100 * share.at("after").to_number<double>();
        EXPECT_NEAR(in_before, found->second.before, 0.0051) << name;
        EXPECT_NEAR(in_after - in_before, found->second.after - found->second.before, 0.0051) << name;
    }
    EXPECT_GE(compared, 3U);
    for (const auto* hot : {"hot_a", "hot_b"}) EXPECT_TRUE(theirs.contains({"split70_30", hot}));
}

TEST(DiffEndToEnd, WindowsOfADaemon) {
    if (const auto why = test::why_no_daemon(); !why.empty()) GTEST_SKIP() << why;
    TempFolder folder;
    DaemonProcess daemon(folder);
    DaemonProcess::Settings settings;
    settings.slice = "1s";
    settings.window = "4s";
    settings.frequency = "499Hz";
    daemon.start(settings);
    Client load("split70_30", {"600"});
    ASSERT_TRUE(daemon.wait_windows(4)) << daemon.log();
    auto windows = daemon.stored_windows();
    ASSERT_GE(windows.size(), 3U);
    std::ranges::reverse(windows);  // oldest first
    const std::string& first = windows[0];
    const std::string& second = windows[1];
    const std::string& third = windows[2];
    const auto diff = diff_json({"--socket", daemon.socket(), "--event", "cpu-clock", first + ".." + second, third});
    const auto& event = first_event(diff);
    EXPECT_EQ(event.at("before").at("id").as_string(), first + ".." + second);
    EXPECT_EQ(event.at("after").at("id").as_string(), third);
    EXPECT_NEAR(event.at("after").at("duration_seconds").to_number<double>(), 4, 0.2);
    const auto listed = diff_json({"--socket", daemon.socket(), "--event", "cpu-clock", first + "," + second, third});
    EXPECT_EQ(first_event(listed).at("rows"), event.at("rows"));
    EXPECT_EQ(exit_code_of({"diff", "--socket", daemon.socket(), second + ".." + first, third}), 2);
    EXPECT_EQ(exit_code_of({"diff", "--socket", daemon.socket(), first + "..20010101T000000Z", third}), 2);
}

}  // namespace
}  // namespace perfvigil
