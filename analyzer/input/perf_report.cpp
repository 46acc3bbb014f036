// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/perf_report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "analyzer/input/dso_name.hpp"
#include "analyzer/input/line_faults.hpp"
#include "analyzer/input/perf_comments.hpp"
#include "analyzer/input/profile_import.hpp"
#include "analyzer/input/report_table.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::string_view kNotShown = "[not shown]";
constexpr std::uint64_t kHundredPercent = 10'000;  // where the event's count is unknown: hundredths of a percent

std::uint64_t share_of(double percent, std::uint64_t whole) {
    const double share = percent / 100 * static_cast<double>(whole);
    return share < static_cast<double>(ProfileImport::kMostWeight) ? static_cast<std::uint64_t>(std::llround(share))
                                                                   : ProfileImport::kMostWeight;
}

// What stands between the first two quotes.
std::string_view quoted(std::string_view text) {
    const auto start = text.find('\'');
    if (start == std::string_view::npos) return {};
    const auto end = text.rfind('\'');
    return end > start ? text.substr(start + 1, end - start - 1) : text.substr(start + 1);
}

class Reader {
public:
    void take(std::string_view line, std::uint64_t number);
    [[nodiscard]] Result<Profile> finish(const TextLines& lines);

private:
    struct Section {
        std::vector<std::uint32_t> events;  // more than one: a group
        RoundedCount samples;
        std::optional<std::uint64_t> count;  // "Event count (approx.)"
        ReportTable table;
    };

    void take_comment(std::string_view line);
    [[nodiscard]] bool take_title(std::string_view text);
    void begin_section(std::string_view names, std::string_view samples);
    [[nodiscard]] bool take_filter(std::string_view text);
    struct Values {
        std::string_view comm;
        std::string_view dso;
        std::string_view symbol;
        std::string_view other{};  // of the first column that is none of these
        std::optional<std::uint64_t> samples{};
        std::optional<std::uint64_t> period{};
    };
    [[nodiscard]] Values values_of(const ReportRow& row) const;
    [[nodiscard]] std::uint32_t function_of(const Values& values);
    [[nodiscard]] static std::uint64_t whole_of(const Section& section);
    void take_row(const ReportRow& row);
    void end_section();
    void describe(Profile& profile) const;

    ProfileImport profile_;
    PerfComments comments_;
    LineFaults faults_;
    std::optional<Section> section_;
    std::uint64_t rows_ = 0;
    // Values that the report was filtered to: their columns are not there.
    std::string comm_;
    std::string dso_;
    std::string symbol_;
    std::string filter_;
    bool rounded_samples_ = false;
    bool grouped_ = false;
    bool chains_ = false;
    bool uncounted_ = false;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> wholes_;  // samples and weight of each event, as printed
};

void Reader::take(std::string_view line, std::uint64_t number) {
    if (line.starts_with("#")) return take_comment(line);
    if (trim(line).empty()) return;
    if (!section_ || !section_->table.known()) return faults_.add(number, line);
    const auto row = section_->table.row(line, std::max<std::size_t>(1, section_->events.size()));
    if (row)
        take_row(*row);
    else
        chains_ = true;
}

void Reader::take_comment(std::string_view line) {
    const auto text = trim(line.substr(1));
    if (take_title(text) || take_filter(text)) return;
    if (!section_) return comments_.take(line);
    if (section_->table.take_dots(line) || section_->table.take_header(line)) return;
    constexpr std::string_view kCount = "Event count (approx.):";
    if (text.starts_with(kCount)) {
        section_->count = parse_number<std::uint64_t>(trim(text.substr(kCount.size())));
    } else {
        comments_.take(line);
    }
}

// "Samples: 12K of event 'cycles'", "Samples: 5 of events 'anon group { a, b }'", "Events: 898  cycles" (up to 3.4).
bool Reader::take_title(std::string_view text) {
    constexpr std::string_view kSamples = "Samples:";
    constexpr std::string_view kEvents = "Events:";
    if (text.starts_with(kSamples)) {
        auto rest = trim(text.substr(kSamples.size()));
        const auto samples = next_piece(rest, ' ');
        const auto names = quoted(rest);
        if (names.empty()) return false;
        begin_section(names, samples);
        return true;
    }
    if (!text.starts_with(kEvents)) return false;
    auto rest = trim(text.substr(kEvents.size()));
    const auto samples = next_piece(rest, ' ');
    begin_section(trim(rest), samples);
    return true;
}

void Reader::begin_section(std::string_view names, std::string_view samples) {
    end_section();
    Section& section = section_.emplace();
    section.samples = parse_rounded_count(samples).value_or(RoundedCount{});
    rounded_samples_ |= !section.samples.exact;
    const auto open = names.find('{');
    if (open != std::string_view::npos) {
        auto members = names.substr(open + 1);
        members = members.substr(0, members.rfind('}'));
        while (!members.empty()) {
            // Event names hold commas only inside slashes.
            std::size_t end = 0;
            bool in_slashes = false;
            while (end < members.size() && (in_slashes || members[end] != ',')) in_slashes ^= members[end++] == '/';
            if (const auto event = profile_.new_event(trim(members.substr(0, end)))) section.events.push_back(*event);
            members = end < members.size() ? members.substr(end + 1) : std::string_view{};
        }
    } else if (const auto event = profile_.new_event(trim(names))) {
        section.events.push_back(*event);
    }
    grouped_ |= section.events.size() > 1;
}

// "comm: gzip", "dso: [kernel.kallsyms]", "symbol: f": a filter that names one value takes its column away.
bool Reader::take_filter(std::string_view text) {
    const auto colon = text.find(": ");
    if (colon == std::string_view::npos) return false;
    const auto key = text.substr(0, colon);
    const auto value = trim(text.substr(colon + 2));
    std::string* place = nullptr;
    if (key == "comm") place = &comm_;
    if (key == "dso") place = &dso_;
    if (key == "symbol") place = &symbol_;
    if (place == nullptr) return false;
    *place = value;
    const auto words = fmt::format("--{} {}", key, value);
    if (filter_.find(words) == std::string::npos) filter_ += (filter_.empty() ? "" : " ") + words;
    return true;
}

// What one row says besides its percentages; a value that the report was filtered to stands for its column.
Reader::Values Reader::values_of(const ReportRow& row) const {
    Values values{.comm = comm_, .dso = dso_, .symbol = symbol_};
    const auto& columns = section_->table.columns();
    for (std::size_t i = 0; i < columns.size() && i < row.cells.size(); ++i) {
        const std::string& name = columns[i];
        const std::string_view cell = row.cells[i];
        if (name == "Samples") {
            values.samples = parse_number<std::uint64_t>(cell);
        } else if (name == "Period") {
            values.period = parse_number<std::uint64_t>(cell);
        } else if (name == "Command") {
            values.comm = cell;
        } else if (name.ends_with(":Command")) {  // "Pid:Command"
            values.comm = trim(cell.substr(std::min(cell.find(':') + 1, cell.size())));
        } else if (name == "Shared Object") {
            values.dso = cell;
        } else if (name == "Symbol") {
            values.symbol = cell;
        } else if (values.other.empty()) {
            values.other = cell;
        }
    }
    return values;
}

// "[k] vfs_read": the letter says whose code it is.
std::uint32_t Reader::function_of(const Values& values) {
    std::string_view name = values.symbol;
    bool kernel = is_kernel_dso(values.dso);
    if (name.size() > 4 && name[0] == '[' && name[2] == ']' && name[3] == ' ') {
        kernel = name[1] == 'k' || (kernel && name[1] != '.');
        name = trim(name.substr(4));
    }
    // Sorted by something coarser than functions.
    if (name.empty()) name = values.dso.empty() ? values.other : values.dso;
    return profile_.function(name, values.dso, kernel);
}

void Reader::take_row(const ReportRow& row) {
    const Section& section = *section_;
    const Values values = values_of(row);
    const auto& percents = section.table.percent_columns();
    const auto self = std::ranges::find(percents, "Self");
    const auto column = static_cast<std::size_t>(self == percents.end() ? 0 : self - percents.begin());
    const std::uint32_t context = profile_.context(values.comm);
    const std::uint32_t function = function_of(values);
    ++rows_;
    for (std::size_t i = 0; i < section.events.size(); ++i) {
        const double percent = row.percents[column * section.events.size() + i];
        const bool alone = section.events.size() == 1;
        const std::uint64_t samples =
            alone && values.samples ? *values.samples : share_of(percent, section.samples.count);
        std::uint64_t weight = share_of(percent, whole_of(section));
        if (alone && values.period) weight = *values.period;
        // A row that only its callees made.
        if (weight == 0 && samples == 0) continue;
        profile_.count({.event = section.events[i],
                        .context = context,
                        .functions = {&function, 1},
                        .samples = samples,
                        .weight = weight,
                        .time = {}});
    }
}

// What a hundred percent of the section's events are.
std::uint64_t Reader::whole_of(const Section& section) {
    return section.events.size() > 1 ? kHundredPercent : section.count.value_or(kHundredPercent);
}

// What the rows leave of the printed total is a part of it all the same: rows under a limit, and what rounding took.
void Reader::end_section() {
    if (!section_) return;
    const Section& section = *section_;
    for (const auto event : section.events) {
        const ProfileEvent& sum = profile_.event_at(event);
        const std::uint64_t weight = whole_of(section);
        const std::uint64_t samples = section.events.size() > 1 ? sum.samples : section.samples.count;
        wholes_.resize(profile_.events());
        wholes_[event] = {std::max(samples, sum.samples), std::max(weight, sum.weight)};
        profile_.event_at(event).unit =
            section.count && section.events.size() == 1 ? unit_of_event(sum.name) : WeightUnit::kEvents;
        if (!filter_.empty() || (weight <= sum.weight && samples <= sum.samples)) continue;
        const std::uint32_t rest = profile_.function(kNotShown, {}, false);
        profile_.count({.event = event,
                        .context = profile_.context(std::string_view{}),
                        .functions = {&rest, 1},
                        .samples = samples - std::min(samples, sum.samples),
                        .weight = weight - std::min(weight, sum.weight),
                        .time = {}});
    }
    uncounted_ |= !section.count && section.events.size() == 1;
    section_.reset();
}

void Reader::describe(Profile& profile) const {
    profile.rounded = true;
    std::string text =
        "This profile was made from a printed report: it has no call chains, and its numbers are the report's "
        "percentages, rounded as printed.";
    if (rounded_samples_) text += " Its counts of samples are rounded too.";
    if (chains_) text += " The chains that the report prints were passed over.";
    profile.warnings.push_back(std::move(text));
    if (grouped_) {
        profile.warnings.emplace_back(
            "Events of a group are printed with percentages alone: their weights are hundredths of a percent, their "
            "counts of samples are of the whole group.");
    }
    if (uncounted_) {
        profile.warnings.emplace_back(
            "The report does not print the count of its events: weights are hundredths of a percent.");
    }
    if (filter_.empty()) return;
    profile.filter = filter_;
    for (std::size_t i = 0; i < profile.events.size(); ++i) {
        std::tie(profile.events[i].whole_samples, profile.events[i].whole_weight) = wholes_[i];
    }
}

Result<Profile> Reader::finish(const TextLines& lines) {
    end_section();
    if (rows_ == 0) {
        const auto fault = faults_.first();
        return fail(ErrorCode::kInvalid,
                    fmt::format("no row of perf report in {} lines{}", lines.number(),
                                fault.empty() ? std::string() : "; the first that could not be read is " + fault));
    }
    if (faults_.count() != 0) profile_.warn(faults_.sentence());
    if (lines.failure()) {
        profile_.warn(fmt::format("Reading ended after line {}: {}.", lines.number(), lines.failure()->message));
    }
    Profile profile = profile_.finish();
    describe(profile);
    comments_.add_to(profile);
    return profile;
}

}  // namespace

std::optional<RoundedCount> parse_rounded_count(std::string_view text) {
    RoundedCount rounded;
    std::uint64_t unit = 1;
    if (!text.empty()) {
        switch (text.back()) {
            case 'K': unit = 1'000; break;
            case 'M': unit = 1'000'000; break;
            case 'G': unit = 1'000'000'000; break;
            default: break;
        }
    }
    if (unit != 1) text.remove_suffix(1);
    const auto count = parse_number<std::uint64_t>(text);
    if (!count || *count > std::numeric_limits<std::uint64_t>::max() / unit) return std::nullopt;
    rounded.count = *count * unit;
    rounded.exact = unit == 1;
    return rounded;
}

Result<Profile> read_perf_report(TextLines& lines) {
    Reader reader;
    std::string_view line;
    while (lines.next(line)) reader.take(line, lines.number());
    return reader.finish(lines);
}

}  // namespace perfvigil::analyzer
