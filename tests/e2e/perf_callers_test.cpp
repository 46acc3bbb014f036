// SPDX-License-Identifier: GPL-2.0-or-later
// Who called the hottest functions, as stock perf says and as we say, from one capture: the same direct callers with
// the same number of samples. Perf goes on where a chain leaves every mapping, we end it there, so chains in which perf
// shows a bare address beside the function are left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analyzer/function_name.hpp"
#include "base/text.hpp"
#include "tests/support/client.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

using test::Client;
using test::ReportView;
using Callers = std::map<std::string, std::uint64_t>;

constexpr std::uint64_t kTopFunctions = 12;

struct PerfFunction {
    std::string dso;
    std::string symbol;
    std::uint64_t samples = 0;
    Callers callers;  // "": none
};

// Of two names at one address perf 6.1 shows the last (__pi_memcpy), we show the plain one; and clones (f.isra.0) as
// the function.
std::string plain(std::string_view symbol) {
    return std::string(analyzer::function_group(symbol.starts_with("__pi_") ? symbol.substr(5) : symbol));
}

bool is_address(std::string_view name) { return name == "0" || name.starts_with("0x"); }

// Rows of "samples|dso|[k] symbol", each followed by its chains: "count outermost|…|caller|symbol".
std::vector<PerfFunction> perf_functions(const std::string& file) {
    const auto text = test::output_of("/usr/bin/perf", {"report", "-f", "-i", file, "--stdio", "--no-children", "-g",
                                                        "folded,0,caller,count", "-F", "sample,dso,sym", "-t", "|"});
    std::vector<PerfFunction> functions;
    for (const auto line : split(text, '\n')) {
        if (line.empty() || line.starts_with('#')) continue;
        if (line.starts_with(' ')) {
            const auto cells = split(line, '|');
            if (cells.size() != 3 || trim(cells[2]).size() < 5)
                throw std::runtime_error("perf row: " + std::string(line));
            functions.push_back({.dso = std::string(trim(cells[1])),
                                 .symbol = plain(trim(cells[2]).substr(4)),
                                 .samples = parse_number<std::uint64_t>(trim(cells[0])).value(),
                                 .callers = {}});
            continue;
        }
        auto chain = line;
        const auto count = parse_number<std::uint64_t>(next_piece(chain, ' ')).value();
        const auto names = split(chain, '|');
        const auto caller = names.size() > 1 ? plain(names[names.size() - 2]) : std::string();
        functions.back().callers[is_address(caller) ? "an address" : caller] += count;
    }
    // Clones that perf has in rows of their own.
    std::vector<PerfFunction> merged;
    for (auto& function : functions) {
        const auto same = std::ranges::find_if(
            merged, [&](const auto& known) { return known.dso == function.dso && known.symbol == function.symbol; });
        if (same == merged.end()) {
            merged.push_back(std::move(function));
            continue;
        }
        same->samples += function.samples;
        for (const auto& [caller, samples] : function.callers) same->callers[caller] += samples;
    }
    std::ranges::stable_sort(merged, std::greater{}, &PerfFunction::samples);
    return merged;
}

struct OurFunction {
    Callers callers;
    std::uint64_t hidden = 0;
};

OurFunction our_function(const ReportView& report, const PerfFunction& wanted) {
    OurFunction found;
    const auto& chains = report.event("cpu-clock").at("call_chains").as_object();
    for (const auto& value : chains.at("functions").as_array()) {
        const auto& function = value.as_object();
        if (function.at("symbol").as_string() != std::string_view(wanted.symbol)) continue;
        if (base_name(function.at("dso").as_string()) != std::string_view(wanted.dso)) continue;
        const auto& callers = function.at("callers").as_object();
        for (const auto& line : callers.at("rows").as_array()) {
            const auto& row = line.as_object();
            if (row.at("depth").to_number<int>() != 0) continue;
            const auto& caller = row.at("functions").as_array().at(0).as_object();
            found.callers[std::string(caller.at("symbol").as_string())] += row.at("samples").to_number<std::uint64_t>();
        }
        found.callers[""] += callers.at("end_samples").to_number<std::uint64_t>();
        found.hidden += callers.at("hidden_samples").to_number<std::uint64_t>();
    }
    return found;
}

// Names of libc may come from separate debug files, which perf reads and we do not.
bool comparable(const std::string& caller) {
    return caller != "an address" && !caller.empty() && !caller.starts_with("__libc") && !caller.starts_with("_dl");
}

// A capture of the whole host under two loads and many short processes.
std::string recorded(const test::TempFolder& folder) {
    auto file = folder / "callers.perf.data";
    {
        const Client split("split70_30", {"60"});
        const Client busy("busy_load", {"0", "50", "60"});
        (void)test::output_of("/usr/bin/perf", {"record", "-q", "-o", file, "-a", "-g", "-F", "999", "-e", "cpu-clock",
                                                "--", "sh", "-c", "for i in $(seq 1000); do /bin/true; done"});
    }
    return file;
}

// Samples in the rows that perf shows under a filter of its own.
std::uint64_t perf_samples(const std::string& file, const std::string& filter) {
    const auto text = test::output_of("/usr/bin/perf", {"report", "-f", "-i", file, "--stdio", "--no-children", "-g",
                                                        "none", "-F", "sample,comm,dso,sym", "-t", "|", filter});
    std::uint64_t sum = 0;
    for (const auto line : split(text, '\n')) {
        if (line.empty() || line.starts_with('#')) continue;
        auto rest = line;
        sum += parse_number<std::uint64_t>(trim(next_piece(rest, '|'))).value();
    }
    return sum;
}

TEST(PerfCallers, AreOurs) {
    const test::TempFolder folder;
    const auto file = recorded(folder);
    const auto ours = ReportView::of_perfvigil({"report", "--json", "--idle", "--percent-limit", "0", file});
    std::size_t functions = 0;
    std::size_t callers = 0;
    for (const auto& theirs : perf_functions(file)) {
        if (functions == kTopFunctions) break;
        if (theirs.dso != "[kernel.kallsyms]" && theirs.dso != "split70_30" && theirs.dso != "busy_load") continue;
        const auto our = our_function(ours, theirs);
        if (our.callers.empty()) continue;  // beyond the functions whose chains a report holds
        ++functions;
        for (const auto& [caller, samples] : theirs.callers) {
            if (!comparable(caller)) continue;
            const auto found = our.callers.find(caller);
            const auto count = found == our.callers.end() ? 0 : found->second;
            ++callers;
            if (our.hidden == 0) {
                EXPECT_EQ(count, samples) << theirs.symbol << " called by " << caller;
            } else if (count != 0) {
                EXPECT_EQ(count, samples) << theirs.symbol << " called by " << caller;
            }
        }
    }
    EXPECT_GE(functions, 3U);
    EXPECT_GE(callers, 5U);
}

TEST(PerfCallers, FiltersLeaveWhatPerfsLeave) {
    const test::TempFolder folder;
    const auto file = recorded(folder);
    const auto whole = ReportView::of_perfvigil({"report", "--json", file});
    const auto all = whole.event("cpu-clock").at("samples").to_number<std::uint64_t>();
    struct Case {
        const char* ours;
        const char* value;
        std::string perf;
    };
    for (const auto& [option, value, perf] :
         {Case{"--comm", "split70_30", "--comms=split70_30"}, Case{"--dso", "split70_30", "--dsos=split70_30"},
          Case{"--symbol", "hot_a", "--symbols=hot_a"}}) {
        const auto part = ReportView::of_perfvigil({"report", "--json", option, value, file});
        const auto& event = part.event("cpu-clock");
        const auto theirs = perf_samples(file, perf);
        EXPECT_EQ(event.at("samples").to_number<std::uint64_t>(), theirs) << option;
        EXPECT_EQ(event.at("whole").as_object().at("samples").to_number<std::uint64_t>(), all) << option;
        EXPECT_GT(theirs, 100U);
        EXPECT_LT(theirs, all);
    }
}

}  // namespace
}  // namespace perfvigil
