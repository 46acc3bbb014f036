// SPDX-License-Identifier: GPL-2.0-or-later
// perfvigil doctor on this host, against what can be known of it otherwise.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "base/fd.hpp"
#include "collector/recording_session.hpp"
#include "tests/support/client.hpp"
#include "tests/support/live_recording.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

using test::Client;

struct Doctored {
    int exit = -1;
    boost::json::object root;
    std::map<std::string, boost::json::object, std::less<>> checks;

    [[nodiscard]] std::string verdict(std::string_view check) const {
        const auto found = checks.find(check);
        return found == checks.end() ? "absent" : std::string(found->second.at("verdict").as_string());
    }
};

Doctored doctor(const std::string& config) {
    Client program(test::kPerfvigil, {"doctor", "--json", "--sample", "1s", "--socket", "/nonexistent/perfvigil.sock",
                                      "--config", config});
    Doctored result;
    result.root = boost::json::parse(program.output()).as_object();
    result.exit = WEXITSTATUS(program.exit_status());
    for (const auto& row : result.root.at("checks").as_array()) {
        result.checks.emplace(std::string(row.at("check").as_string()), row.as_object());
    }
    return result;
}

TEST(DoctorHere, EveryCheckAnswersAndTheExitStatusIsTheWorst) {
    if (const auto why = test::why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    const test::TempFolder folder;
    const auto config = folder.write(
        "perfvigil.yaml", "store: {dir: " + (folder / "store") + ", bytes: 1MiB}\ncaptures: {enabled: false}\n");
    const Client load("spin", {"60", "0"});
    const auto result = doctor(config);
    EXPECT_EQ(result.checks.size(), 23U);
    EXPECT_EQ(result.verdict("clock_event"), "ok") << result.checks.at("clock_event").at("evidence");
    EXPECT_EQ(result.verdict("daemon"), "unknown");
    EXPECT_NE(result.verdict("frame_pointers"), "unknown") << "there is a load to sample";
    EXPECT_EQ(result.verdict("perf_maps"), "ok");
    EXPECT_NE(result.verdict("sample_cost"), "unknown");
    EXPECT_EQ(::geteuid() == 0 ? result.verdict("paranoid") : "ok", "ok");
    // The session finds out in its own way whether there is a PMU.
    const auto session = collector::RecordingSession::open({}, system_clock());
    ASSERT_TRUE(session);
    const bool no_pmu = std::ranges::any_of((*session)->degraded(), [](const auto& d) { return d.reason == "no_pmu"; });
    EXPECT_EQ(no_pmu, result.checks.at("pmu").contains("reason") && result.checks.at("pmu").at("reason") == "no_pmu");

    int worst = 0;
    for (const auto& [name, check] : result.checks) {
        const auto& verdict = check.at("verdict").as_string();
        worst = std::max(worst, verdict == "broken" ? 2 : verdict == "degraded" ? 1 : 0);
        const bool wrong = verdict == "broken" || verdict == "degraded";
        EXPECT_EQ(wrong, !check.at("remedy").as_string().empty()) << name;
    }
    EXPECT_EQ(result.exit, worst);
}

TEST(DoctorHere, AFolderThatCannotBeWrittenIsNamed) {
    if (const auto why = test::why_not_recordable(); !why.empty()) GTEST_SKIP() << why;
    const auto result = [] {
        const test::TempFolder folder;
        const auto file = folder.write("file", "");
        return doctor(folder.write("perfvigil.yaml", "store: {dir: " + file + "}\n"));
    }();
    EXPECT_EQ(result.verdict("disk"), "degraded");
    EXPECT_GE(result.exit, 1);
}

TEST(DoctorHere, NothingIsChangedWithoutAYes) {
    const std::string path = "/proc/sys/kernel/perf_event_paranoid";
    const auto before = read_file(path).value_or("");
    Client program(test::kPerfvigil, {"doctor", "--fix", "sysctl", "--sample", "0", "--config", "/nonexistent"});
    const auto text = program.output();
    EXPECT_TRUE(text.contains("No sysctl stands in the way") || text.contains("[y/N]")) << text;
    EXPECT_EQ(read_file(path).value_or(""), before);
}

}  // namespace
}  // namespace perfvigil
