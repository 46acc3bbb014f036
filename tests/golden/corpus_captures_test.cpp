// SPDX-License-Identifier: GPL-2.0-or-later
// Every capture of the corpus against what an independent reader found in it. A difference is a fault of ours, or it is
// argued in corpus_differences.txt; what is listed there and does not occur is a failure too.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <boost/json/object.hpp>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/capture_reader.hpp"
#include "tests/support/argued_differences.hpp"
#include "tests/support/corpus.hpp"

namespace perfvigil::collector {
namespace {

namespace json = boost::json;
using namespace perfvigil::test;

struct EventSum {
    std::uint64_t samples = 0;
    std::uint64_t period = 0;
};

// Sums samples per event the way reports do.
class Summing final : public RecordSink {
public:
    void on_record(const OrderedRecord& record) override {
        const auto* sample = std::get_if<SampleRecord>(&record.record);
        if (sample == nullptr) return;
        if (record.event == nullptr) {
            ++unmatched;
            return;
        }
        EventSum& sum = sums[record.event->event.value];
        ++sum.samples;
        const bool weighed = sample->sample.has(kSamplePeriod) || sample->sample.has(kSampleRead);
        sum.period += weighed ? sample->period : attr_period(*record.event);
        if (!sample->sample.has(kSampleTime)) return;
        first_time = std::min(first_time, to_ns(sample->sample.time));
        last_time = std::max(last_time, to_ns(sample->sample.time));
    }
    void on_cut(const Cut& cut) override { last_cut_ends = cut.last; }

    std::uint64_t attr_period(const EventInstance& instance) const {
        return table->event(instance.event).attr.sample_period_or_freq;
    }

    const EventTable* table = nullptr;
    std::map<std::uint32_t, EventSum> sums;
    std::uint64_t unmatched = 0;
    std::uint64_t first_time = UINT64_MAX;
    std::uint64_t last_time = 0;
    bool last_cut_ends = false;
};

std::string text_at(const json::object& object, std::string_view key) {
    const auto* found = object.if_contains(key);
    return found != nullptr && found->is_string() ? std::string(found->as_string()) : std::string();
}

std::uint64_t number_at(const json::object& object, std::string_view key) {
    const auto* found = object.if_contains(key);
    return found != nullptr && found->is_number() ? found->to_number<std::uint64_t>() : 0;
}

// Differences between one capture and its expectation, one line each.
class Comparison {
public:
    explicit Comparison(std::string file) : file_(std::move(file)) {}

    template <class A, class B>
    void check(const std::string& what, const A& expected, const B& got) {
        if (fmt::to_string(expected) == fmt::to_string(got)) return;
        lines.push_back(fmt::format("{}: {}: {} expected, {} read", file_, what, expected, got));
    }

    std::vector<std::string> lines;

private:
    std::string file_;
};

// The independent reader's spelling where a capture names nothing.
bool names_match(const std::string& expected, const EventInfo& event) {
    return expected == event.name || expected == fmt::format("type{}:config{:#x}", event.attr.type, event.attr.config);
}

void compare_events(const json::array& expected, const CaptureReader& reader, const Summing& summed, Comparison& out) {
    const auto& events = reader.events().events();
    out.check("events", expected.size(), events.size());
    for (std::uint32_t i = 0; i < std::min(expected.size(), events.size()); ++i) {
        const json::object& event = expected[i].as_object();
        const std::string name = text_at(event, "name");
        if (!names_match(name, events[i])) out.check(fmt::format("event {} name", i), name, events[i].name);
        const auto sum = summed.sums.find(i);
        const EventSum got = sum == summed.sums.end() ? EventSum{} : sum->second;
        out.check(fmt::format("event {} samples", i), number_at(event, "samples"), got.samples);
        out.check(fmt::format("event {} period", i), number_at(event, "period_sum"), got.period);
    }
}

std::string type_name(std::uint32_t type) {
    const auto name = record_type_name(type);
    return name.empty() ? std::to_string(type) : std::string(name);
}

void compare_types(const json::object& expected, const CaptureCounts& counts, Comparison& out) {
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> types;
    for (const auto& [key, value] : expected) {
        std::string name(key);
        if (name.starts_with("z:")) name.erase(0, 2);
        if (name.starts_with("HEADER_TRACING") || name.starts_with("HEADER_EVENT")) name.erase(0, 7);
        types[name].first += value.to_number<std::uint64_t>();
    }
    for (const auto& [type, count] : counts.by_type) types[type_name(type)].second += count;
    for (const auto& [name, pair] : types) out.check("records " + name, pair.first, pair.second);
}

std::vector<std::string> differences_of(const json::object& entry) {
    const std::string path = text_at(entry, "path");
    const json::object& expected = entry.at("reader").as_object();
    Comparison out(text_at(entry, "id"));
    auto reader = CaptureReader::open(corpus_folder() + "/" + path);
    if (!reader) {
        // Hostile files may be refused, with a sentence that names the file.
        EXPECT_NE(reader.error().message.find(path), std::string::npos) << reader.error().message;
        out.check("refused, records", expected.at("record_types").as_object().size(), 0);
        out.check("refused, events", expected.at("events").as_array().size(), 0);
        return out.lines;
    }
    Summing summed;
    summed.table = &(*reader)->events();
    const bool empty = expected.at("events").as_array().empty() && number_at(expected, "samples") == 0;
    out.check("refused at the end", empty, !(*reader)->finish(summed).has_value());
    EXPECT_TRUE(summed.last_cut_ends) << path;
    const CaptureCounts& counts = (*reader)->counts();
    out.check("samples", number_at(expected, "samples"), counts.samples);
    out.check("lost records", number_at(expected, "lost_records"), counts.lost_records);
    out.check("lost events", number_at(expected, "lost_total"), counts.lost_events);
    out.check("lost samples", number_at(expected, "lost_samples"), counts.lost_samples);
    out.check("samples without event", 0, summed.unmatched);
    out.check("malformed", 0, counts.malformed);
    if (number_at(expected, "first_time") != 0 && counts.samples != 0) {
        out.check("first time", number_at(expected, "first_time"), summed.first_time);
        out.check("last time", number_at(expected, "last_time"), summed.last_time);
    }
    compare_events(expected.at("events").as_array(), **reader, summed, out);
    compare_types(expected.at("record_types").as_object(), counts, out);
    const bool odd = !expected.at("errors").as_array().empty();
    out.check("says what was odd", odd, !(*reader)->warnings().empty());
    return out.lines;
}

TEST(CorpusCaptures, AgreeWithAnIndependentReader) {
    if (!has_corpus()) GTEST_SKIP() << corpus_absent();
    ArguedDifferences argued("corpus_differences.txt");
    std::size_t files = 0;
    const auto manifest = corpus_manifest();
    for (const auto& entry : manifest.as_object().at("binaries").as_array()) {
        ++files;
        for (const std::string& line : differences_of(entry.as_object())) argued.found(line);
    }
    argued.expect_all_found();
    EXPECT_GE(files, 60U);
}

TEST(CorpusCaptures, EveryWarningIsASentenceWithItsPlace) {
    if (!has_corpus()) GTEST_SKIP() << corpus_absent();
    const auto manifest = corpus_manifest();
    for (const auto& entry : manifest.as_object().at("binaries").as_array()) {
        const std::string path = text_at(entry.as_object(), "path");
        auto reader = CaptureReader::open(corpus_folder() + "/" + path);
        if (!reader) continue;
        Summing summed;
        summed.table = &(*reader)->events();
        const auto finished = (*reader)->finish(summed);
        EXPECT_TRUE(finished.has_value() || finished.error().message.size() >= 40U) << path;
        for (const auto& warning : (*reader)->warnings()) {
            EXPECT_GE(warning.size(), 20U) << path << ": " << warning;
            EXPECT_EQ(escape(warning), warning) << path;
            if (std::getenv("PERFVIGIL_SHOW_WARNINGS") != nullptr) fmt::print("{}: {}\n", path, warning);
        }
    }
}

}  // namespace
}  // namespace perfvigil::collector
