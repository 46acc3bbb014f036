// SPDX-License-Identifier: GPL-2.0-or-later
// What `perfvigil report` ends with, for every capture of the corpus, hostile ones included, from a file and from
// standard input: 0 with whatever could be read (and warnings where that was not all), 2 with one sentence where
// nothing could.
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "base/text.hpp"
#include "tests/support/client.hpp"
#include "tests/support/corpus.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil {
namespace {

namespace json = boost::json;

struct Ended {
    int status = -1;
    std::string output;  // of both kinds; one of them is empty
};

enum class From : std::uint8_t { kFile, kInput };

Ended report(const std::string& path, From from) {
    const char* script = from == From::kFile ? R"("$0" report --json "$1" 2>&1; echo "status $?")"
                                             : R"("$0" report --json - < "$1" 2>&1; echo "status $?")";
    test::Client shell("/bin/sh", {"-c", script, test::kPerfvigil, path});
    Ended ended{.status = -1, .output = shell.output()};
    const auto mark = ended.output.rfind("status ");
    if (mark == std::string::npos) return ended;
    ended.status = parse_number<int>(trim(std::string_view(ended.output).substr(mark + 7))).value_or(-1);
    ended.output.resize(mark);
    return ended;
}

void expect_refusal(const Ended& ended, const std::string& named) {
    EXPECT_THAT(ended.output, testing::StartsWith("perfvigil: " + named + ": "));
    EXPECT_EQ(ended.output.find('\n'), ended.output.size() - 1) << ended.output;
    EXPECT_GT(ended.output.size(), named.size() + 40) << ended.output;
}

TEST(CorpusExit, IsZeroWithWarningsOrTwoWithASentence) {
    if (!test::has_corpus()) GTEST_SKIP() << test::corpus_absent();
    std::size_t refused = 0;
    const auto manifest = test::corpus_manifest();
    for (const auto& value : manifest.as_object().at("binaries").as_array()) {
        const auto& entry = value.as_object();
        const auto& reader = entry.at("reader").as_object();
        const auto path = test::corpus_folder() + '/' + std::string(entry.at("path").as_string());
        SCOPED_TRACE(path);
        for (const From from : {From::kFile, From::kInput}) {
            const auto ended = report(path, from);
            if (ended.status == 2) {
                ++refused;
                EXPECT_EQ(reader.at("samples").to_number<std::uint64_t>(), 0U);
                expect_refusal(ended, from == From::kFile ? path : "standard input");
                continue;
            }
            ASSERT_EQ(ended.status, 0) << ended.output;
            const auto written = json::parse(ended.output);
            std::uint64_t samples = 0;
            for (const auto& event : written.as_object().at("events").as_array()) {
                samples += event.as_object().at("samples").to_number<std::uint64_t>();
            }
            // A sample of a group read is one per member, and none of a member that did not move.
            EXPECT_GE(samples, reader.at("samples").to_number<std::uint64_t>());
            const bool damaged = !reader.at("errors").as_array().empty();
            if (damaged) {
                EXPECT_FALSE(written.as_object().at("warnings").as_array().empty());
            }
        }
    }
    EXPECT_GT(refused, 0U);
}

TEST(CorpusExit, IsTwoWhereThereIsNoFile) {
    const auto ended = report("/nonexistent/perf.data", From::kFile);
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(ended.output, "perfvigil: /nonexistent/perf.data: No such file or directory\n");
}

}  // namespace
}  // namespace perfvigil
