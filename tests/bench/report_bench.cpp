// SPDX-License-Identifier: GPL-2.0-or-later
// What a capture of many samples costs to read, beside perf on the same file in the same run: CPU time (user and
// system, all processes), the least of several runs, and ratios.
//   report_bench [FILE]
// Without FILE it records one: all CPUs at 4200 Hz with call chains, of compilers that come and go and of a deep
// recursion, 60 MB or so in 50 s. Run it as root, for perf and we read kallsyms then.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "tests/support/client.hpp"
#include "tests/support/command_cost.hpp"
#include "tests/support/outside_tool.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::test {
namespace {

constexpr int kRuns = 5;
constexpr int kRunsOfPerf = 3;  // some of its runs take half a minute

std::string quoted(const std::string& text) { return "'" + text + "'"; }

bool record(const std::string& file) {
    const auto compile = fmt::format(
        "cd {} && while true; do for f in tests/support/*.cpp; do c++ -std=c++23 -fsyntax-only -I. $f 2>/dev/null; "
        "done; done",
        quoted(kSourceDir));
    std::vector<std::unique_ptr<Client>> loads;
    for (int i = 0; i < 2; ++i)
        loads.push_back(std::make_unique<Client>("/bin/sh", std::vector<std::string>{"-c", compile}));
    const Client deep("recursion", {"25", "3600"});
    return cost_of(fmt::format("perf record -q -F 4200 -e cpu-clock -a -g -o {} -- sleep 50 2>/dev/null", quoted(file)))
               .status == 0;
}

struct Row {
    std::string name;
    std::string command;
    double aim = 0;  // how many times faster we are to be; 0: nothing is aimed at
};

// Our way first.
void compare(const std::string& title, const Row& ours, const std::vector<Row>& theirs) {
    const auto run = [](const Row& row, int runs) {
        const Cost cost = least_cost_of(row.command + " >/dev/null 2>&1", runs);
        if (cost.status != 0) fmt::print(stderr, "report_bench: failed: {}\n", row.command);
        return cost;
    };
    const Cost own = run(ours, kRuns);
    fmt::print("\n{:<40}{:>9}{:>9}{:>8}{:>10}{:>8}\n", title, "CPU s", "times", "aim", "MiB", "times");
    const auto mebibytes = [](const Cost& cost) { return static_cast<double>(cost.max_rss_kib) / 1024; };
    fmt::print("  {:<38}{:>9.3f}{:>9}{:>8}{:>10.0f}\n", ours.name, own.cpu_seconds, "", "", mebibytes(own));
    for (const auto& row : theirs) {
        const Cost cost = run(row, kRunsOfPerf);
        fmt::print("  {:<38}{:>9.3f}{:>9.1f}{:>8}{:>10.0f}{:>8.1f}\n", row.name, cost.cpu_seconds,
                   cost.cpu_seconds / own.cpu_seconds, row.aim == 0 ? std::string("-") : fmt::format("{:g}", row.aim),
                   mebibytes(cost), mebibytes(cost) / mebibytes(own));
        std::fflush(stdout);
    }
}

void measure(const std::string& capture) {
    const TempFolder folder;
    const std::string file = quoted(capture);
    const std::string perf = "perf report -f --stdio -i " + file;
    const std::string perfvigil = kPerfvigil;
    const std::string script = "perf script -f --no-inline -i " + file + " -F comm,tid,time,period,event,ip,sym,dso";
    const std::string collapse = " | perl " + quoted(collapse_script()) + " cpu-clock";
    fmt::print("{} of {}\n", human_bytes(std::filesystem::file_size(capture)), capture);
    compare("report", {"perfvigil report", perfvigil + " report " + file},
            {{"perf report", perf, 20},
             {"perf report -g none", perf + " -g none", 3},
             {"perf report --no-children", perf + " --no-children"},
             {"perf report --no-children -g none", perf + " --no-children -g none"}});
    compare("collapsed stacks", {"perfvigil export", perfvigil + " export " + file + " --idle --to folded"},
            {{"perf script | collapse.pl", script + collapse, 50}});
}

}  // namespace
}  // namespace perfvigil::test

int main(int argc, char** argv) {
    if (argc > 1) {
        perfvigil::test::measure(argv[1]);
        return 0;
    }
    const perfvigil::test::TempFolder folder;
    const std::string file = folder / "perf.data";
    if (!perfvigil::test::record(file)) {
        fmt::print(stderr, "report_bench: perf record failed\n");
        return 1;
    }
    perfvigil::test::measure(file);
}
