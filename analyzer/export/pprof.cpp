// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/pprof.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <boost/unordered/unordered_flat_map.hpp>
#include <protozero/pbf_writer.hpp>

#include "analyzer/export/build_ids.hpp"
#include "analyzer/export/event_choice.hpp"
#include "analyzer/export/frame_style.hpp"
#include "analyzer/export/gzip.hpp"
#include "analyzer/export/string_table.hpp"
#include "analyzer/observation_warnings.hpp"
#include "analyzer/origin_text.hpp"

namespace perfvigil::analyzer {
namespace {

// Field numbers of proto/profile.proto.
enum ProfileField : std::uint32_t {
    kSampleType = 1,
    kSample = 2,
    kMapping = 3,
    kLocation = 4,
    kFunction = 5,
    kStringTable = 6,
    kTimeNanos = 9,
    kDurationNanos = 10,
    kPeriodType = 11,
    kPeriod = 12,
    kComment = 13,
    kDefaultSampleType = 14,
};

// Values are signed there.
std::int64_t value_of(std::uint64_t number) {
    return static_cast<std::int64_t>(
        std::min<std::uint64_t>(number, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())));
}

class PprofWriter {
public:
    PprofWriter(const Profile& profile, std::uint32_t event, IdleRows idle)
        : profile_(profile), event_(event), idle_(idle), writer_(out_) {}

    std::string write() {
        const ProfileEvent& event = profile_.events[event_];
        const auto [type, unit] = weight_type(event);
        value_type(kSampleType, "samples", "count");
        value_type(kSampleType, type, unit);
        for (const auto& sample : profile_.samples) {
            if (sample.event == event_ && (!sample.idle || idle_ == IdleRows::kInclude)) write_sample(sample);
        }
        locations();
        functions();
        mappings();
        if (profile_.start != WallTime{}) writer_.add_int64(kTimeNanos, profile_.start.time_since_epoch().count());
        if (profile_.duration.count() > 0) writer_.add_int64(kDurationNanos, profile_.duration.count());
        value_type(kPeriodType, type, unit);
        if (const auto period = sample_period(event); period > 0) writer_.add_int64(kPeriod, value_of(period));
        comments();
        writer_.add_int64(kDefaultSampleType, strings_.number(type));
        for (const auto& text : strings_.strings()) writer_.add_string(kStringTable, text);
        return std::move(out_);
    }

private:
    void value_type(std::uint32_t field, std::string_view type, std::string_view unit) {
        protozero::pbf_writer message(writer_, field);
        message.add_int64(1, strings_.number(type));
        message.add_int64(2, strings_.number(unit));
    }

    void write_sample(const ProfileSample& sample) {
        const auto& functions = profile_.stacks[sample.stack].functions;
        sample_locations_.clear();
        for (std::size_t i = 0; i < functions.size();) {
            // Inlined calls belong to the function behind them.
            std::size_t end = i + 1;
            while (end < functions.size() && profile_.functions[functions[end - 1]].inlined) ++end;
            sample_locations_.push_back(location_of({functions.begin() + static_cast<std::ptrdiff_t>(i),
                                                     functions.begin() + static_cast<std::ptrdiff_t>(end)}));
            i = end;
        }
        const std::array<std::int64_t, 2> values{value_of(sample.samples), value_of(sample.weight)};
        protozero::pbf_writer message(writer_, kSample);
        message.add_packed_uint64(1, sample_locations_.begin(), sample_locations_.end());
        message.add_packed_int64(2, values.begin(), values.end());
        const ProfileContext& context = profile_.contexts[sample.context];
        text_label(message, "comm", context.comm);
        text_label(message, "unit", context.unit);
        text_label(message, "container", context.container);
        if (context.pid) number_label(message, "pid", context.pid->value);
        if (context.tid) number_label(message, "tid", context.tid->value);
        if (context.cpu) number_label(message, "cpu", context.cpu->value);
        if (sample.idle) text_label(message, "idle", "yes");
    }
    void text_label(protozero::pbf_writer& sample, std::string_view key, std::string_view value) {
        if (value.empty()) return;
        protozero::pbf_writer label(sample, 3);
        label.add_int64(1, strings_.number(key));
        label.add_int64(2, strings_.number(value));
    }
    void number_label(protozero::pbf_writer& sample, std::string_view key, std::int64_t value) {
        protozero::pbf_writer label(sample, 3);
        label.add_int64(1, strings_.number(key));
        label.add_int64(3, value);
    }

    std::uint64_t location_of(std::vector<std::uint32_t> functions) {
        return locations_.try_emplace(std::move(functions), locations_.size() + 1).first->second;
    }
    std::uint64_t function_of(const ProfileFunction& function) {
        ProfileFunction bare = function;
        bare.inlined = false;
        bare.line = 0;
        return functions_.try_emplace({frame_name(bare), function.name, function.file}, functions_.size() + 1)
            .first->second;
    }

    void locations() {
        for (const auto& [functions, number] : locations_) {
            protozero::pbf_writer location(writer_, kLocation);
            location.add_uint64(1, number);
            location.add_uint64(2, mapping_of(profile_.functions[functions.back()]));
            for (const auto position : functions) {
                const ProfileFunction& function = profile_.functions[position];
                protozero::pbf_writer line(location, 4);
                line.add_uint64(1, function_of(function));
                if (function.line != 0) line.add_int64(2, function.line);
                lines_ |= function.line != 0;
                inlined_ |= function.inlined;
            }
        }
    }

    void functions() {
        for (const auto& [names, number] : functions_) {
            const auto& [shown, name, file] = names;
            protozero::pbf_writer message(writer_, kFunction);
            message.add_uint64(1, number);
            message.add_int64(2, strings_.number(shown));
            message.add_int64(3, strings_.number(name));
            if (!file.empty()) message.add_int64(4, strings_.number(file));
        }
    }

    std::uint64_t mapping_of(const ProfileFunction& function) {
        const auto [at, added] = mapping_numbers_.emplace(function.dso, mapping_numbers_.size() + 1);
        if (added) mapping_names_.push_back(function.dso);
        return at->second;
    }
    void mappings() {
        const BuildIds build_ids = build_ids_of(profile_);
        for (std::size_t i = 0; i < mapping_names_.size(); ++i) {
            const std::string_view name = mapping_names_[i];
            protozero::pbf_writer message(writer_, kMapping);
            message.add_uint64(1, i + 1);
            // A mapping without a name would be merged with its neighbour.
            message.add_int64(5, strings_.number(name.empty() ? "[unknown]" : name));
            if (const auto found = build_ids.find(name); found != build_ids.end()) {
                message.add_int64(6, strings_.number(found->second));
            }
            message.add_bool(7, true);                 // has_functions: there is nothing to look up
            if (lines_) message.add_bool(8, true);     // has_filenames
            if (lines_) message.add_bool(9, true);     // has_line_numbers
            if (inlined_) message.add_bool(10, true);  // has_inline_frames
        }
    }

    void comments() {
        std::vector<std::string> texts{event_text(profile_, event_, idle_)};
        const auto& host = profile_.host;
        if (auto text = host_text(host); !text.empty()) texts.push_back(std::move(text));
        if (!host.recorder.empty()) texts.push_back("recorded by " + host.recorder);
        std::ranges::move(warnings_of(profile_), std::back_inserter(texts));
        for (const auto& text : texts) writer_.add_int64(kComment, strings_.number(text));
    }

    const Profile& profile_;
    std::uint32_t event_;
    IdleRows idle_;
    std::string out_;
    protozero::pbf_writer writer_;
    StringTable strings_;
    bool lines_ = false;  // some function has one
    bool inlined_ = false;
    std::vector<std::uint64_t> sample_locations_;
    std::map<std::vector<std::uint32_t>, std::uint64_t> locations_;  // by their functions, innermost first
    // By name and file: a function of several lines is one there.
    std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> functions_;
    boost::unordered_flat_map<std::string, std::uint64_t> mapping_numbers_;
    std::vector<std::string> mapping_names_;
};

}  // namespace

WeightType weight_type(const ProfileEvent& event) {
    switch (event.unit) {
        case WeightUnit::kNanoseconds: return {"cpu", "nanoseconds"};
        case WeightUnit::kCycles: return {"cycles", "count"};
        case WeightUnit::kEvents: break;
    }
    // Two values of one name could not be told apart.
    return {event.name.empty() || event.name == "samples" ? "events" : event.name, "count"};
}

std::uint64_t sample_period(const ProfileEvent& event) {
    if (event.nominal_period.count() > 0) return static_cast<std::uint64_t>(event.nominal_period.count());
    return event.frequency_mode ? 0 : event.rate;
}

std::string pprof(const Profile& profile, std::uint32_t event, IdleRows idle) {
    return gzip(PprofWriter(profile, event, idle).write());
}

}  // namespace perfvigil::analyzer
