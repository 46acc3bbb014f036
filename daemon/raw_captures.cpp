// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/raw_captures.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <utility>
#include <variant>

#include "analyzer/capture_analysis.hpp"
#include "analyzer/profile/merge.hpp"
#include "base/text.hpp"
#include "base/time_text.hpp"
#include "collector/capture_reader.hpp"
#include "daemon/frozen_captures.hpp"
#include "daemon/protocol.hpp"
#include "daemon/time_event.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
namespace field = protocol::field;
using collector::OrderedRecord;
using collector::SampleRecord;

constexpr Nanoseconds kSecond = std::chrono::seconds(1);
const Error kEnds{ErrorCode::kBusy, 0, "the daemon ends"};

Error nothing_kept() {
    return {ErrorCode::kNotFound, 0,
            "no raw capture holds that time (captures.bytes and captures.keep say how much is kept)"};
}

// Samples of the clock with their wall times, which are known once the slice's cut is there.
class ClockSamples final : public collector::RecordSink {
public:
    struct Sample {
        MonotonicTime time{};
        CpuId cpu{};
        bool task = false;  // not the idle task
    };
    using Take = std::function<void(WallTime, const Sample&)>;

    ClockSamples(const collector::EventTable& events, Take take) : events_(events), take_(std::move(take)) {}

    void on_record(const OrderedRecord& record) override {
        const auto* sample = std::get_if<SampleRecord>(&record.record);
        if (sample == nullptr || record.event == nullptr || !sample->sample.has(collector::kSampleTime)) return;
        if (time_event_of(events_.events()) != record.event->event.value) return;
        if (period_ == Nanoseconds{}) period_ = record.event->nominal_period;
        waiting_.push_back(
            {sample->sample.time, record.event->cpu.value_or(sample->sample.cpu), sample->sample.tid.value != 0});
    }
    void on_cut(const collector::Cut& cut) override {
        for (const auto& sample : waiting_) {
            const WallTime at = cut.wall - (cut.time - sample.time);
            begin_ = std::min(begin_, at);
            take_(at, sample);
        }
        waiting_.clear();
        end_ = std::max(end_, cut.wall);
    }

    [[nodiscard]] Nanoseconds period() const { return period_; }
    // What the file tells about: from its first sample to its last cut. Empty where it holds none.
    [[nodiscard]] WallStretch held() const { return {begin_, end_}; }

private:
    const collector::EventTable& events_;
    Take take_;
    std::vector<Sample> waiting_;
    Nanoseconds period_{};
    WallTime begin_ = WallTime::max();
    WallTime end_ = WallTime::min();
};

// As often as the clock was asked to tick.
double hertz_of(const std::string& path) {
    const auto reader = collector::CaptureReader::open(path);
    if (!reader) return 0;
    const auto& events = (*reader)->events().events();
    const auto event = time_event_of(events);
    if (!event || events[*event].attr.sample_period_or_freq == 0) return 0;
    const auto asked = static_cast<double>(events[*event].attr.sample_period_or_freq);
    return events[*event].attr.freq() ? asked : 1e9 / asked;
}

// Reads a file to its end; nullopt: it cannot be read (its time came, or it is damaged), which costs its part.
struct ReadCapture {
    Nanoseconds period{};
    WallStretch held{};
    std::string event{};
};
std::optional<ReadCapture> read_samples(const std::string& path, ClockSamples::Take take) {
    auto reader = collector::CaptureReader::open(path);
    if (!reader) return std::nullopt;
    ClockSamples sink((*reader)->events(), std::move(take));
    if (!(*reader)->finish(sink)) return std::nullopt;
    const auto event = time_event_of((*reader)->events().events());
    return ReadCapture{sink.period(), sink.held(), event ? (*reader)->events().events()[*event].name : std::string()};
}

void count(HeatMap& map, WallTime at) {
    const auto since = at - map.start;
    if (since < Nanoseconds{}) return;
    const auto column = static_cast<std::size_t>(since / kSecond);
    if (column >= map.columns()) return;
    const auto row = static_cast<std::size_t>((since % kSecond) * static_cast<std::int64_t>(map.rows) / kSecond);
    ++map.busy[column * map.rows + row];
}

}  // namespace

std::vector<CaptureFileInfo> kept_captures(const std::string& directory) {
    std::vector<CaptureFileInfo> kept;
    std::set<std::uint64_t> seen;  // a freeze is another name of the same file
    const auto add = [&](const std::string& folder) {
        for (auto& file : list_captures(folder)) {
            if (time_in_name(base_name(file.path)) && seen.insert(file.inode).second) kept.push_back(std::move(file));
        }
    };
    add(directory);
    std::error_code error;
    for (fs::directory_iterator folder(frozen_folder(directory), error), end; !error && folder != end;
         folder.increment(error)) {
        add(folder->path().string());
    }
    return kept;
}

std::vector<CaptureFileInfo> captures_between(std::vector<CaptureFileInfo> files, const WallStretch& stretch) {
    // A file's name tells when it began, its last write when it ended: a slice later at most.
    constexpr Nanoseconds kSlack = std::chrono::minutes(1);
    std::erase_if(files, [&](const CaptureFileInfo& file) {
        return file.begun > stretch.to + kSlack || file.written + kSlack < stretch.from;
    });
    std::ranges::stable_sort(files, {}, &CaptureFileInfo::begun);
    return files;
}

std::size_t even_rows(double hertz) {
    constexpr std::size_t kFewest = 10;
    constexpr std::size_t kMost = 50;
    const auto ticks = static_cast<std::size_t>(std::lround(std::clamp(hertz, 0.0, 1e6)));
    for (std::size_t rows = kMost; rows >= kFewest; --rows) {
        if (ticks > 0 && ticks % rows == 0) return rows;
    }
    return ticks >= kFewest && ticks <= kMostHeatRows ? ticks : kMost;
}

Result<HeatMap> heat_map(const std::string& directory, const WallStretch& stretch, std::size_t rows,
                         const std::stop_token& stop) {
    const auto files = captures_between(kept_captures(directory), stretch);
    if (rows == 0) rows = even_rows(files.empty() ? 0 : hertz_of(files.back().path));
    HeatMap map{.start = std::chrono::floor<std::chrono::seconds>(stretch.from), .rows = rows};
    const auto end = std::chrono::ceil<std::chrono::seconds>(stretch.to);
    const auto columns = static_cast<std::size_t>((end - map.start) / kSecond);
    map.busy.resize(columns * rows);
    map.cpus.resize(columns);
    std::set<CpuId> cpus;  // an idle CPU may write no sample in most seconds
    std::vector<bool> held(columns);
    for (const auto& file : files) {
        if (stop.stop_requested()) return fail(kEnds);
        const auto read = read_samples(file.path, [&](WallTime at, const ClockSamples::Sample& sample) {
            cpus.insert(sample.cpu);
            if (sample.task) count(map, at);
        });
        if (!read || read->period <= Nanoseconds{}) continue;
        map.hertz = 1 / to_seconds(read->period);
        map.event = read->event;
        for (std::size_t column = 0; column < columns; ++column) {
            const WallTime from = map.start + kSecond * static_cast<std::int64_t>(column);
            if (from < read->held.to && from + kSecond > read->held.from) held[column] = true;
        }
    }
    if (std::ranges::find(held, true) == held.end()) return fail(nothing_kept());
    for (std::size_t column = 0; column < columns; ++column) {
        if (held[column]) map.cpus[column] = static_cast<std::uint32_t>(cpus.size());
    }
    return map;
}

std::string heat_json(const HeatMap& map) {
    json::array columns;
    for (std::size_t column = 0; column < map.columns(); ++column) {
        json::array counts;
        for (std::size_t row = 0; row < map.rows; ++row) counts.push_back(map.busy[column * map.rows + row]);
        columns.push_back(json::object{{field::kCpus, map.cpus[column]}, {field::kBusy, std::move(counts)}});
    }
    return json::serialize(json::object{{field::kStart, iso_time(map.start)},
                                        {"rows", map.rows},
                                        {field::kFrequency, map.hertz},
                                        {field::kEvent, escape(map.event)},
                                        {"columns", std::move(columns)}}) +
           "\n";
}

Result<analyzer::Profile> raw_profile(const std::string& directory, const WallStretch& stretch,
                                      const std::stop_token& stop) {
    std::vector<analyzer::Profile> parts;
    for (const auto& file : captures_between(kept_captures(directory), stretch)) {
        if (stop.stop_requested()) return fail(kEnds);
        // The selection counts from the first sample of any event; where its clock began is what the file says.
        std::optional<WallTime> first;
        bool within = false;
        const auto read = read_samples(file.path, [&](WallTime at, const ClockSamples::Sample&) {
            first = std::min(first.value_or(at), at);
            within |= at >= stretch.from && at < stretch.to;
        });
        if (!read || !within) continue;
        auto reader = collector::CaptureReader::open(file.path);
        if (!reader) continue;
        analyzer::CaptureOptions options;
        options.samples.time = analyzer::TimeRange{.from = std::max(0.0, to_seconds(stretch.from - *first)),
                                                   .to = to_seconds(stretch.to - *first)};
        auto profile = analyzer::analyze_capture(**reader, std::string(base_name(file.path)), options, system_clock());
        if (!profile) return fail(std::move(profile.error()).at(file.path));
        parts.push_back(std::move(*profile));
    }
    if (parts.empty()) return fail(nothing_kept());
    // What was selected is told by the stretch, which is the same for all, and not by each file's own seconds.
    for (auto& part : parts) part.filter.clear();
    return analyzer::merge_profiles(std::move(parts));
}

}  // namespace perfvigil::daemon
