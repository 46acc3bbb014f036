// SPDX-License-Identifier: GPL-2.0-or-later
// Every capture of the corpus observed: which rules fire on which file, as it was read and found true
// (corpus_observations.txt). Files that nobody can read are not listed.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <boost/json/object.hpp>

#include "analyzer/input/load.hpp"
#include "analyzer/observations.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "tests/support/corpus.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;

const std::string kStored = std::string(test::kGoldenDir) + "/corpus_observations.txt";

// Whether a foreign capture's file is absent here or another one depends on the host that analyzes.
std::string_view same_on_every_host(std::string_view id) {
    return id == "unknown_no_file" || id == "unknown_build_id_mismatch" ? "unknown_file" : id;
}

// "<file>: lost_samples=warning too_few_samples=info"; nothing where the file is refused.
std::string line_of(const std::string& path) {
    const auto profile = load_profile(corpus_folder() + "/" + path, {}, system_clock());
    if (!profile) return {};
    std::map<std::string, Severity> found;  // of several with one id the most severe
    for (const auto& observation : observe(*profile)) {
        auto& severity = found[std::string(same_on_every_host(observation.id))];
        severity = std::max(severity, observation.severity);
        EXPECT_FALSE(observation.evidence.empty()) << path << ": " << observation.id;
    }
    std::string line = std::string(base_name(path)) + ":";
    for (const auto& [id, severity] : found) line += fmt::format(" {}={}", id, severity_name(severity));
    return line;
}

TEST(CorpusObservations, AreThoseThatWereFoundTrue) {
    if (!has_corpus()) GTEST_SKIP() << corpus_absent();
    std::vector<std::string> lines;
    const auto manifest = corpus_manifest();
    for (const auto& entry : manifest.as_object().at("binaries").as_array()) {
        auto line = line_of(std::string(entry.as_object().at("path").as_string()));
        if (!line.empty()) lines.push_back(std::move(line));
    }
    std::ranges::sort(lines);
    EXPECT_GE(lines.size(), 40U);
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
        std::ofstream out(kStored);
        out << "# <file>: <rule>=<severity> … Whether files of foreign captures are absent or others: unknown_file.\n";
        for (const auto& line : lines) out << line << "\n";
        return;
    }
    const auto stored = read_file(kStored);
    ASSERT_TRUE(stored.has_value()) << stored.error().message;
    std::set<std::string_view> expected;
    for (const auto line : split(*stored, '\n')) {
        if (!line.empty() && !line.starts_with('#')) expected.insert(line);
    }
    for (const auto& line : lines) {
        if (expected.erase(line) == 0) ADD_FAILURE() << "observed, not stored: " << line;
    }
    for (const auto line : expected) ADD_FAILURE() << "stored, not observed: " << line;
}

}  // namespace
}  // namespace perfvigil::analyzer
