// SPDX-License-Identifier: GPL-2.0-or-later
// Samples by instruction against perf's own: the addresses that perf script prints for a function, counted.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "base/text.hpp"
#include "collector/blocked_child.hpp"
#include "tests/support/client.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

namespace json = boost::json;
using Counts = std::map<std::uint64_t, std::uint64_t>;  // samples by address, from the first one on

Counts from_the_first(const Counts& counts) {
    Counts moved;
    for (const auto& [address, samples] : counts) moved[address - counts.begin()->first] = samples;
    return moved;
}

Counts counts_of_perf(const std::string& file, const std::string& symbol) {
    Counts counts;
    const auto text = test::output_of("/usr/bin/perf", {"script", "-i", file, "-F", "ip,sym", "-G"});
    for (const auto line : split(text, '\n')) {
        const auto words = split(trim(line), ' ');
        if (words.size() != 2 || words[1] != symbol) continue;
        ++counts[std::stoull(std::string(words[0]), nullptr, 16)];
    }
    return counts;
}

class Annotate : public testing::Test {
protected:
    void SetUp() override {
        (void)test::output_of(test::kPerfvigil, {"record", "-F", "999", "-e", "cpu-clock", "-o", file_, "--",
                                                 test::client_path("split70_30"), "3"});
    }
    json::value annotation(std::vector<std::string> more) {
        std::vector<std::string> arguments{"annotate", "--json", "hot_a", file_};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return json::parse(test::output_of(test::kPerfvigil, arguments)).at("functions").at(0);
    }

    test::TempFolder folder_;
    std::string file_ = folder_ / "split.perf.data";
};

TEST_F(Annotate, CountsEachInstructionAsPerfDoes) {
    const auto function = annotation({});
    Counts ours;
    std::uint64_t with_text = 0;
    std::uint64_t with_line = 0;
    std::uint64_t samples = 0;
    for (const auto& row : function.at("instructions").as_array()) {
        const auto count = row.at("samples").to_number<std::uint64_t>();
        if (count == 0) continue;
        samples += count;
        ours[std::stoull(std::string(row.at("address").as_string()), nullptr, 16)] = count;
        with_text += row.as_object().contains("instruction") ? count : 0;
        with_line += row.as_object().contains("line") ? count : 0;
    }
    ASSERT_GT(samples, 500U);
    EXPECT_EQ(samples, function.at("samples").to_number<std::uint64_t>());
    EXPECT_EQ(from_the_first(ours), from_the_first(counts_of_perf(file_, "hot_a")));
    EXPECT_EQ(with_text, samples) << "each sampled address is an instruction";
    EXPECT_GT(with_line, samples * 9 / 10);
    EXPECT_EQ(function.at("lines").at(0).at("file").as_string().find("split70_30.cpp") != json::string::npos, true);

    const auto report = test::ReportView::of_perfvigil({"report", "--json", file_});
    std::uint64_t reported = 0;
    for (const auto& row : report.event("cpu-clock").at("functions").as_array()) {
        if (row.at("symbol").as_string() == "hot_a") reported = row.at("self_samples").to_number<std::uint64_t>();
    }
    EXPECT_EQ(samples, reported);
}

TEST_F(Annotate, ReportsByLineHoldTheSameSamples) {
    std::map<std::string, std::uint64_t> expected;
    const auto function = annotation({});
    for (const auto& row : function.at("lines").as_array()) {
        const auto file = std::string(base_name(std::string_view(row.at("file").as_string())));
        expected[fmt::format("{}:{}", file, row.at("line").to_number<int>())] = row.at("samples").to_number<int>();
    }
    const auto report = test::ReportView::of_perfvigil({"report", "--json", "--by", "symbol,srcline", file_});
    const auto& event = report.event("cpu-clock");
    std::map<std::string, std::uint64_t> ours;
    std::uint64_t sum = 0;
    for (const auto& row : event.at("by").at("rows").as_array()) {
        const auto samples = row.at("samples").to_number<std::uint64_t>();
        sum += samples;
        if (row.at("symbol").as_string() == "hot_a") ours[std::string(row.at("srcline").as_string())] = samples;
    }
    EXPECT_EQ(sum, event.at("samples").to_number<std::uint64_t>());
    ours.erase("(no line)");
    EXPECT_EQ(ours, expected);
}

TEST_F(Annotate, AFunctionThatWasNotSampledIsNamedWithItsNeighbours) {
    test::Client asked(test::kPerfvigil, {"annotate", "hot_", file_});
    (void)asked.output();
    EXPECT_EQ(collector::exit_code_of(asked.exit_status()), 2);
}

}  // namespace
}  // namespace perfvigil
