// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/pprof.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "analyzer/input/pprof_message.hpp"
#include "analyzer/input/profile_import.hpp"
#include "base/build_id.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::int64_t kFarthestTime = std::int64_t{1} << 61;
constexpr std::size_t kNoColumn = 0xffffffff;

// Nanoseconds in one of this unit; 0: it is no time.
std::uint64_t nanoseconds_in(std::string_view unit) {
    if (unit == "nanoseconds" || unit == "nanosecond" || unit == "ns") return 1;
    if (unit == "microseconds" || unit == "microsecond" || unit == "us") return 1'000;
    if (unit == "milliseconds" || unit == "millisecond" || unit == "ms") return 1'000'000;
    if (unit == "seconds" || unit == "second" || unit == "s") return 1'000'000'000;
    return 0;
}

class Reader {
public:
    explicit Reader(const PprofMessage& message) : message_(message) {}
    [[nodiscard]] Result<Profile> read();

private:
    struct Event {
        std::uint32_t number = 0;
        std::size_t samples = kNoColumn;  // of a sample's values
        std::size_t weight = 0;
        std::uint64_t scale = 1;
    };
    [[nodiscard]] Result<void> make_events();
    void add_event(std::size_t samples, std::size_t weight);
    [[nodiscard]] bool counts_for_next(std::size_t column) const;
    [[nodiscard]] const std::vector<std::uint32_t>& functions_at(std::uint64_t location);
    [[nodiscard]] std::uint32_t context_of(const PprofSample& sample);
    [[nodiscard]] bool take(const PprofSample& sample);
    void add_build_ids(Profile& profile) const;
    void describe(Profile& profile) const;

    const PprofMessage& message_;
    ProfileImport profile_;
    std::vector<Event> events_;
    boost::unordered_flat_map<std::uint64_t, std::vector<std::uint32_t>> functions_;  // by location
    std::vector<std::uint32_t> stack_;
    std::uint64_t odd_samples_ = 0;  // with another number of values than there are types
};

// "samples/count" before "cpu/nanoseconds", "alloc_objects/count" before "alloc_space/bytes", "cycles_sample/count"
// before "cycles_event/count".
bool Reader::counts_for_next(std::size_t column) const {
    const auto& types = message_.types;
    if (column + 1 >= types.size() || message_.text(types[column].unit) != "count") return false;
    const auto type = message_.text(types[column].type);
    return type == "samples" || type.ends_with("_sample") || message_.text(types[column + 1].unit) != "count";
}

void Reader::add_event(std::size_t samples, std::size_t weight) {
    std::string_view name = message_.text(message_.types[weight].type);
    const std::string_view unit = message_.text(message_.types[weight].unit);
    constexpr std::string_view kEvent = "_event";
    if (samples != kNoColumn && name.ends_with(kEvent)) name.remove_suffix(kEvent.size());
    const auto number = profile_.new_event(name.empty() ? "samples" : name);
    if (!number) return;
    Event event{.number = *number, .samples = samples, .weight = weight};
    ProfileEvent& made = profile_.event_at(*number);
    if (const std::uint64_t scale = nanoseconds_in(unit); scale != 0) {
        event.scale = scale;
        made.unit = WeightUnit::kNanoseconds;
    } else if (unit == "cycles" || unit_of_event(name) == WeightUnit::kCycles) {
        made.unit = WeightUnit::kCycles;
    }
    const std::uint64_t period_scale = nanoseconds_in(message_.text(message_.period_type.unit));
    if (made.unit == WeightUnit::kNanoseconds && period_scale != 0 && message_.period > 0 &&
        message_.text(message_.period_type.type) == message_.text(message_.types[weight].type) &&
        message_.period < kFarthestTime / 1'000'000'000) {
        const std::uint64_t period = static_cast<std::uint64_t>(message_.period) * period_scale;
        made.nominal_period = Nanoseconds(static_cast<std::int64_t>(period));
        made.frequency_mode = true;
        made.rate = (1'000'000'000 + period / 2) / period;
    }
    events_.push_back(event);
}

Result<void> Reader::make_events() {
    if (message_.types.empty()) return fail(ErrorCode::kInvalid, "the pprof profile names no type of value");
    for (std::size_t i = 0; i < message_.types.size(); ++i) {
        const bool paired = counts_for_next(i);
        add_event(paired ? i : kNoColumn, paired ? i + 1 : i);
        i += paired ? 1 : 0;
    }
    return {};
}

const std::vector<std::uint32_t>& Reader::functions_at(std::uint64_t id) {
    const auto [at, added] = functions_.try_emplace(id);
    if (!added) return at->second;
    const auto location = message_.locations.find(id);
    std::string_view dso = "[unknown]";
    if (location != message_.locations.end()) {
        const auto mapping = message_.mappings.find(location->second.mapping);
        if (mapping != message_.mappings.end()) dso = message_.text(mapping->second.file);
        for (const auto function : location->second.functions) {
            const auto name = message_.function_names.find(function);
            at->second.push_back(profile_.function(
                name == message_.function_names.end() ? std::string_view{} : message_.text(name->second), dso));
        }
    }
    if (at->second.empty()) at->second.push_back(profile_.function({}, dso));
    return at->second;
}

std::uint32_t Reader::context_of(const PprofSample& sample) {
    ProfileContext context{.comm = {}, .unit = {}, .container = {}};
    int rank = 0;  // of the label that names the thread: some writers have several
    for (const auto& label : sample.labels) {
        const auto key = message_.text(label.key);
        const auto text = message_.text(label.text);
        if (text.empty()) continue;
        const int better = key == "comm"                             ? 3
                           : key == "thread_comm" || key == "thread" ? 2
                           : key == "process_comm"                   ? 1
                                                                     : 0;
        if (better > rank) {
            context.comm = text;
            rank = better;
        }
        if (key == "unit") context.unit = text;
        if (key == "container") context.container = text;
    }
    return profile_.context(context);
}

// False where a value is negative: the profile is a difference.
bool Reader::take(const PprofSample& sample) {
    if (sample.values.size() != message_.types.size()) {
        ++odd_samples_;
        return true;
    }
    if (std::ranges::any_of(sample.values, [](std::int64_t value) { return value < 0; })) return false;
    stack_.clear();
    for (const auto location : sample.locations) {
        const auto& functions = functions_at(location);
        stack_.insert(stack_.end(), functions.begin(), functions.end());
    }
    const std::uint32_t context = context_of(sample);
    const bool idle = std::ranges::any_of(sample.labels, [&](const PprofLabel& label) {
        return message_.text(label.key) == "idle" && message_.text(label.text) == "yes";  // as we write them
    });
    for (const Event& event : events_) {
        const auto weight = static_cast<std::uint64_t>(sample.values[event.weight]);
        const auto samples = event.samples == kNoColumn ? (message_.text(message_.types[event.weight].unit) == "count"
                                                               ? weight
                                                               : std::min<std::uint64_t>(weight, 1))
                                                        : static_cast<std::uint64_t>(sample.values[event.samples]);
        if (weight == 0 && samples == 0) continue;
        profile_.count({.event = event.number,
                        .context = context,
                        .functions = stack_,
                        .idle_task = profile_.is_idle_task(context),
                        .idle = idle,
                        .samples = samples,
                        .weight = std::min(weight, ProfileImport::kMostWeight / event.scale) * event.scale,
                        .time = {}});
    }
    return true;
}

// One build per binary: a file replaced meanwhile has none.
void Reader::add_build_ids(Profile& profile) const {
    std::map<std::string_view, std::optional<BuildId>> builds;
    for (const auto& [id, mapping] : message_.mappings) {
        const auto build = BuildId::from_hex(message_.text(mapping.build_id));
        if (!build || build->empty()) continue;
        const auto [at, added] = builds.emplace(message_.text(mapping.file), build);
        if (!added && at->second != build) at->second.reset();
    }
    for (const auto& [name, build] : builds) {
        if (build) profile.dsos.push_back({.name = std::string(name), .build_id = build->hex()});
    }
}

void Reader::describe(Profile& profile) const {
    add_build_ids(profile);
    if (message_.duration_ns > 0 && message_.duration_ns < kFarthestTime) {
        profile.duration = Nanoseconds(message_.duration_ns);
    }
    if (message_.time_ns > 0 && message_.time_ns < kFarthestTime) {
        profile.start = WallTime(Nanoseconds(message_.time_ns));
        profile.end = profile.start + profile.duration;
    }
    if (odd_samples_ != 0) {
        profile.warnings.push_back(fmt::format(
            "{} samples have another number of values than the profile has types: they were left out.", odd_samples_));
    }
}

Result<Profile> Reader::read() {
    if (auto made = make_events(); !made) return fail(std::move(made.error()));
    PprofSample sample;
    try {
        for (const auto packed : message_.samples) {
            parse_pprof_sample(packed, sample);
            if (!take(sample)) {
                return fail(ErrorCode::kUnsupported,
                            "the pprof profile has negative values: it is the difference of two profiles; give "
                            "perfvigil diff the two it was made from");
            }
        }
    } catch (const std::exception& damage) {
        return fail(ErrorCode::kInvalid, std::string("a sample of the pprof profile is damaged: ") + damage.what());
    }
    Profile profile = profile_.finish();
    describe(profile);
    return profile;
}

}  // namespace

bool looks_like_pprof(Bytes start) {
    constexpr std::size_t kFieldsLooked = 16;
    constexpr std::uint32_t kMostField = 14;
    // By field: whether it is a message or text; the others are numbers.
    const auto has_length = [](std::uint32_t field) { return field <= 6 || field == 11; };
    std::size_t fields = 0;
    std::uint64_t types = 0;
    ByteReader in(start);
    while (in.remaining() != 0 && fields < kFieldsLooked) {
        const unsigned tag = in.u8();
        const std::uint32_t field = tag >> 3U;
        const unsigned wire = tag & 7U;
        if (field == 0 || field > kMostField || (wire != 0 && wire != 2) || (has_length(field) && wire != 2))
            return false;
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const unsigned byte = in.u8();
            value |= std::uint64_t{byte & 0x7fU} << shift;
            if ((byte & 0x80U) == 0) break;
        }
        if (wire == 2 && value > in.remaining()) break;  // beyond what was looked at, or beyond the end
        if (wire == 2) in.skip(value);
        types += field == 1 ? 1 : 0;
        ++fields;
    }
    return in.ok() && fields >= 2 && types != 0;
}

Result<Profile> read_pprof(Bytes bytes) {
    const auto message = parse_pprof(bytes);
    if (!message) return fail(message.error());
    return Reader(*message).read();
}

}  // namespace perfvigil::analyzer
