// SPDX-License-Identifier: GPL-2.0-or-later
// Every capture of the corpus as a profile, against what perf 6.1 reports of it without any symbols: the events with
// their totals, the commands and DSOs with the most samples, and the most sampled addresses. A difference is a fault of
// ours, or it is argued in corpus_report_differences.txt.
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <boost/json/object.hpp>

#include "analyzer/capture_analysis.hpp"
#include "analyzer/stream_analysis.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "tests/support/argued_differences.hpp"
#include "tests/support/corpus.hpp"

namespace perfvigil::analyzer {
namespace {

namespace json = boost::json;
using namespace perfvigil::test;

struct Count {
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
    friend bool operator==(const Count&, const Count&) = default;
};
using Counts = std::map<std::string, Count>;

// Gives each address its own name, in perf's way for what has none.
class AddressNames final : public Symbolizer {
public:
    Symbol resolve(const collector::DsoRef& dso, std::uint64_t offset) override {
        const bool kernel = dso->kind == collector::DsoKind::kKernel || dso->kind == collector::DsoKind::kKernelCode;
        const auto [name, added] =
            names_.try_emplace({kernel, offset}, fmt::format("[{}] {:#018x}", kernel ? 'k' : '.', offset));
        return {.name = name->second, .dso = dso->path, .start = offset, .size = 1};
    }

private:
    std::map<std::pair<bool, std::uint64_t>, std::string> names_;
};

class Comparison {
public:
    Comparison(std::string file, ArguedDifferences& argued) : file_(std::move(file)), argued_(argued) {}

    template <class A, class B>
    void check(const std::string& what, const A& expected, const B& got) {
        if (fmt::to_string(expected) == fmt::to_string(got)) return;
        argued_.found(fmt::format("{}: {}: {} expected, {} found", file_, what, expected, got));
    }
    void check(const std::string& what, const Count& expected, const Count& got) {
        check(what, fmt::format("{}/{}", expected.samples, expected.weight),
              fmt::format("{}/{}", got.samples, got.weight));
    }
    void check_rows(const std::string& what, const json::array& expected, const Counts& got) {
        for (const auto& value : expected) {
            const auto& row = value.as_object();
            const std::string key(row.at("key").as_string());
            const auto found = got.find(key);
            check(what + ' ' + escape(key),
                  {row.at("samples").to_number<std::uint64_t>(), row.at("period").to_number<std::uint64_t>()},
                  found == got.end() ? Count{} : found->second);
        }
    }

private:
    std::string file_;
    ArguedDifferences& argued_;
};

CaptureOptions without_symbols() {
    return {.samples = {},
            .symbols = {.symfs = {}, .kallsyms = {}, .buildid_dir = "", .debug_dirs = {}},
            .split_hybrid = true};
}

std::uint64_t number_at(const json::object& object, std::string_view key) {
    return object.at(key).to_number<std::uint64_t>();
}

Counts by_comm(const Profile& profile, std::uint32_t event) {
    Counts counts;
    for (const auto& sample : profile.samples) {
        if (sample.event != event) continue;
        auto& count = counts[profile.contexts[sample.context].comm];
        count.samples += sample.samples;
        count.weight += sample.weight;
    }
    return counts;
}

enum class By : std::uint8_t { kDso, kFunction };
Counts by_leaf(const Profile& profile, std::uint32_t event, By by) {
    Counts counts;
    for (const auto& sample : profile.samples) {
        if (sample.event != event) continue;
        const auto& leaf = profile.functions[profile.stacks[sample.stack].functions.front()];
        auto& count = counts[by == By::kDso ? std::string(base_name(leaf.dso)) : leaf.name];
        count.samples += sample.samples;
        count.weight += sample.weight;
    }
    return counts;
}

// The whole of a capture with AddressNames.
Profile addresses_of(const std::string& path) {
    auto reader = collector::CaptureReader::open(path);
    if (!reader) return {};
    AddressNames names;
    StreamAnalysis analysis((*reader)->events(), names, KernelText(), {}, nullptr);
    analysis.split_hybrid();
    if (!(*reader)->finish(analysis)) return {};
    return analysis.build((*reader)->host(), "addresses");
}

// perf lists the events that have samples.
std::vector<std::uint32_t> sampled_events(const Profile& profile) {
    std::vector<std::uint32_t> sampled;
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) {
        if (profile.events[i].samples > 0) sampled.push_back(i);
    }
    return sampled;
}

void compare_with_perf(const json::object& oracle, const Profile& profile, const Profile& addresses, Comparison& out) {
    if (!oracle.at("events").is_array()) return;
    const auto& events = oracle.at("events").as_array();
    const auto ours = sampled_events(profile);
    out.check("events with samples", events.size(), ours.size());
    for (std::size_t i = 0; i < std::min(events.size(), ours.size()); ++i) {
        const auto& expected = events[i].as_object();
        const auto& event = profile.events[ours[i]];
        const auto what = [&](std::string_view of) { return fmt::format("event {} {}", i, of); };
        out.check(what("name"), std::string(expected.at("event").as_string()), event.name);
        out.check(what("total"), {number_at(expected, "samples"), number_at(expected, "event_count")},
                  {event.samples, event.weight});
        const auto comms = by_comm(profile, ours[i]);
        const auto dsos = by_leaf(profile, ours[i], By::kDso);
        out.check(what("commands"), number_at(expected, "n_comm"), comms.size());
        out.check(what("DSOs"), number_at(expected, "n_dso"), dsos.size());
        out.check_rows(what("command"), expected.at("by_comm").as_array(), comms);
        out.check_rows(what("DSO"), expected.at("by_dso").as_array(), dsos);
        if (ours[i] < addresses.events.size()) {
            out.check_rows(what("address"), expected.at("by_sym").as_array(),
                           by_leaf(addresses, ours[i], By::kFunction));
        }
    }
}

std::uint64_t lost_in(const Profile& profile) {
    std::uint64_t lost = 0;
    for (const auto& event : profile.events) lost += event.lost;
    return lost;
}

TEST(CorpusReports, AgreeWithPerf) {
    if (!has_corpus()) GTEST_SKIP() << corpus_absent();
    ArguedDifferences argued("corpus_report_differences.txt");
    std::size_t compared = 0;
    const auto manifest = corpus_manifest();
    for (const auto& value : manifest.as_object().at("binaries").as_array()) {
        const auto& entry = value.as_object();
        const std::string name(entry.at("path").as_string());
        const std::string path = corpus_folder() + '/' + name;
        auto reader = collector::CaptureReader::open(path);
        if (!reader) {
            EXPECT_NE(reader.error().message.find(path), std::string::npos) << reader.error().message;
            continue;
        }
        const auto profile = analyze_capture(**reader, name, without_symbols(), system_clock());
        Comparison out(std::string(entry.at("id").as_string()), argued);
        if (!profile) {
            EXPECT_NE(profile.error().message.find(path), std::string::npos) << profile.error().message;
            const auto& said = entry.at("reader").as_object();
            out.check("refused, samples", number_at(said, "samples"), 0);
            continue;
        }
        const auto& said = entry.at("reader").as_object();
        const auto lost =
            number_at(said, "lost_samples") > 0 ? number_at(said, "lost_samples") : number_at(said, "lost_total");
        out.check("lost", lost, lost_in(*profile));
        for (const auto& function : profile->functions) {
            EXPECT_TRUE(function.name.starts_with('[')) << path << ": " << function.name;
        }
        if (const auto* oracle = entry.if_contains("perf_oracle"); oracle != nullptr && oracle->is_object()) {
            ++compared;
            compare_with_perf(oracle->as_object(), *profile, addresses_of(path), out);
        }
    }
    argued.expect_all_found();
    EXPECT_GE(compared, 45U);
}

}  // namespace
}  // namespace perfvigil::analyzer
