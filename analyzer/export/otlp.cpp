// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/otlp.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include <boost/unordered/unordered_flat_map.hpp>
#include <protozero/pbf_writer.hpp>

#include "analyzer/export/build_ids.hpp"
#include "analyzer/export/frame_style.hpp"
#include "analyzer/export/pprof.hpp"
#include "analyzer/export/string_table.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

using Writer = protozero::pbf_writer;

// Field numbers, by message.
namespace data {
enum Field : std::uint32_t { kResourceProfiles = 1, kDictionary = 2 };
}
namespace resource_profiles {
enum Field : std::uint32_t { kResource = 1, kScopeProfiles = 2 };
}
namespace scope_profiles {
enum Field : std::uint32_t { kScope = 1, kProfiles = 2 };
}
namespace dictionary {
enum Field : std::uint32_t {
    kMappings = 1,
    kLocations = 2,
    kFunctions = 3,
    kLinks = 4,
    kStrings = 5,
    kAttributes = 6,
    kStacks = 7
};
}
namespace profile_field {
enum Field : std::uint32_t {
    kSampleType = 1,
    kSamples = 2,
    kTimeUnixNano = 3,
    kDurationNano = 4,
    kPeriodType = 5,
    kPeriod = 6
};
}
namespace sample_field {
enum Field : std::uint32_t { kStack = 1, kAttributes = 2, kValues = 4 };
}

// KeyValueAndUnit, each once; number 0 is the empty one.
class Attributes {
public:
    explicit Attributes(StringTable& strings) : strings_(strings), bytes_(1) {}

    [[nodiscard]] std::int32_t text(std::string_view key, std::string_view value) {
        std::string any;
        Writer(any).add_string(1, escape(value));
        return number(key, any);
    }
    [[nodiscard]] std::int32_t integer(std::string_view key, std::int64_t value) {
        std::string any;
        Writer(any).add_int64(3, value);
        return number(key, any);
    }
    [[nodiscard]] const std::vector<std::string>& bytes() const { return bytes_; }

private:
    std::int32_t number(std::string_view key, const std::string& any) {
        std::string message;
        Writer writer(message);
        writer.add_int32(1, static_cast<std::int32_t>(strings_.number(key)));
        writer.add_message(2, any);
        const auto [at, added] = numbers_.emplace(message, static_cast<std::int32_t>(bytes_.size()));
        if (added) bytes_.push_back(message);
        return at->second;
    }

    StringTable& strings_;
    std::vector<std::string> bytes_;
    boost::unordered_flat_map<std::string, std::int32_t> numbers_;
};

void resource_text(Writer& resource, std::string_view key, std::string_view value) {
    if (value.empty()) return;
    Writer attribute(resource, 1);
    attribute.add_string(1, std::string(key));
    Writer any(attribute, 2);
    any.add_string(1, escape(value));
}

std::string_view frame_type(const ProfileFunction& function) {
    if (function.kernel) return "kernel";
    return frame_kind(function) == FrameKind::kJit ? "jit" : "native";
}

class OtlpWriter {
public:
    OtlpWriter(const Profile& profile, IdleRows idle)
        : profile_(profile),
          idle_(idle),
          attributes_(strings_),
          stack_numbers_(profile.stacks.size(), 0),
          build_ids_(build_ids_of(profile)) {
        for (const auto& context : profile.contexts) context_attributes_.push_back(attributes_of(context));
    }

    std::string write(const std::vector<std::uint32_t>& events) {
        std::string out;
        Writer root(out);
        {
            Writer group(root, data::kResourceProfiles);
            resource(group);
            Writer scope(group, resource_profiles::kScopeProfiles);
            {
                Writer name(scope, scope_profiles::kScope);
                name.add_string(1, "perfvigil");
                name.add_string(2, PERFVIGIL_VERSION);
            }
            for (const auto event : events) {
                Writer one(scope, scope_profiles::kProfiles);
                write_event(one, event);
            }
        }
        Writer tables(root, data::kDictionary);
        write_dictionary(tables);
        return out;
    }

private:
    void resource(Writer& group) const {
        Writer message(group, resource_profiles::kResource);
        const auto& host = profile_.host;
        resource_text(message, "host.name", host.hostname);
        resource_text(message, "os.type", "linux");
        resource_text(message, "os.version", host.os_release);
        resource_text(message, "host.arch", host.architecture);
    }

    std::vector<std::int32_t> attributes_of(const ProfileContext& context) {
        std::vector<std::int32_t> numbers;
        if (!context.comm.empty()) numbers.push_back(attributes_.text("thread.name", context.comm));
        if (!context.unit.empty()) numbers.push_back(attributes_.text("systemd.unit", context.unit));
        if (!context.container.empty()) numbers.push_back(attributes_.text("container.id", context.container));
        if (context.pid) numbers.push_back(attributes_.integer("process.pid", context.pid->value));
        if (context.tid) numbers.push_back(attributes_.integer("thread.id", context.tid->value));
        if (context.cpu) numbers.push_back(attributes_.integer("cpu.logical_number", context.cpu->value));
        return numbers;
    }

    void value_type(Writer& message, std::uint32_t field, const ProfileEvent& event) {
        const auto [type, unit] = weight_type(event);
        Writer value(message, field);
        value.add_int32(1, static_cast<std::int32_t>(strings_.number(type)));
        value.add_int32(2, static_cast<std::int32_t>(strings_.number(unit)));
    }

    void write_event(Writer& message, std::uint32_t number) {
        const ProfileEvent& event = profile_.events[number];
        value_type(message, profile_field::kSampleType, event);
        for (const auto& sample : profile_.samples) {
            if (sample.event == number && (!sample.idle || idle_ == IdleRows::kInclude)) write_sample(message, sample);
        }
        if (profile_.start > WallTime{}) {
            message.add_fixed64(profile_field::kTimeUnixNano,
                                static_cast<std::uint64_t>(profile_.start.time_since_epoch().count()));
        }
        if (profile_.duration.count() > 0) {
            message.add_uint64(profile_field::kDurationNano, static_cast<std::uint64_t>(profile_.duration.count()));
        }
        value_type(message, profile_field::kPeriodType, event);
        message.add_int64(profile_field::kPeriod, limited(sample_period(event)));
    }

    static std::int64_t limited(std::uint64_t value) {
        return static_cast<std::int64_t>(
            std::min<std::uint64_t>(value, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())));
    }

    void write_sample(Writer& message, const ProfileSample& sample) {
        Writer one(message, profile_field::kSamples);
        one.add_int32(sample_field::kStack, stack_number(sample.stack));
        auto numbers = context_attributes_[sample.context];
        if (sample.idle) numbers.push_back(attributes_.text("cpu.mode", "idle"));
        one.add_packed_int32(sample_field::kAttributes, numbers.begin(), numbers.end());
        const std::array<std::int64_t, 1> values{limited(sample.weight)};
        one.add_packed_int64(sample_field::kValues, values.begin(), values.end());
    }

    // Stacks are numbered as they are used; 0 is the empty one.
    std::int32_t stack_number(std::uint32_t stack) {
        if (profile_.stacks[stack].functions.empty()) return 0;
        if (stack_numbers_[stack] == 0) {
            stacks_.push_back(stack);
            stack_numbers_[stack] = static_cast<std::int32_t>(stacks_.size());
        }
        return stack_numbers_[stack];
    }

    // Function n has the location of the same number; the first entry of every table is the empty one.
    void write_dictionary(Writer& tables) {
        std::vector<std::string> mappings(1);
        boost::unordered_flat_map<std::string_view, std::int32_t> mapping_numbers;
        std::vector<std::string> locations(1);
        std::vector<std::string> functions(1);
        for (std::size_t i = 0; i < profile_.functions.size(); ++i) {
            const ProfileFunction& function = profile_.functions[i];
            const auto [mapping, added] =
                mapping_numbers.emplace(function.dso, static_cast<std::int32_t>(mappings.size()));
            if (added) mappings.push_back(mapping_message(function.dso));
            Writer(functions.emplace_back())
                .add_int32(1, static_cast<std::int32_t>(strings_.number(frame_name(function))));
            locations.push_back(location_message(function, mapping->second, static_cast<std::int32_t>(i + 1)));
        }
        for (const auto& bytes : mappings) tables.add_message(dictionary::kMappings, bytes);
        for (const auto& bytes : locations) tables.add_message(dictionary::kLocations, bytes);
        for (const auto& bytes : functions) tables.add_message(dictionary::kFunctions, bytes);
        tables.add_message(dictionary::kLinks, std::string());
        for (const auto& text : strings_.strings()) tables.add_string(dictionary::kStrings, text);
        for (const auto& bytes : attributes_.bytes()) tables.add_message(dictionary::kAttributes, bytes);
        tables.add_message(dictionary::kStacks, std::string());
        std::vector<std::int32_t> numbers;
        for (const auto stack : stacks_) {
            numbers.clear();
            for (const auto function : profile_.stacks[stack].functions) {
                numbers.push_back(static_cast<std::int32_t>(function + 1));
            }
            Writer message(tables, dictionary::kStacks);
            message.add_packed_int32(1, numbers.begin(), numbers.end());
        }
    }

    std::string mapping_message(const std::string& dso) {
        std::string bytes;
        Writer message(bytes);
        message.add_int32(4, static_cast<std::int32_t>(strings_.number(dso.empty() ? "[unknown]" : dso)));
        const auto build = build_ids_.find(dso);
        if (build == build_ids_.end()) return bytes;
        const std::array<std::int32_t, 1> numbers{attributes_.text("process.executable.build_id.gnu", build->second)};
        message.add_packed_int32(5, numbers.begin(), numbers.end());
        return bytes;
    }

    std::string location_message(const ProfileFunction& function, std::int32_t mapping, std::int32_t number) {
        std::string bytes;
        Writer message(bytes);
        message.add_int32(1, mapping);
        {
            Writer line(message, 3);
            line.add_int32(1, number);
        }
        const std::array<std::int32_t, 1> numbers{attributes_.text("profile.frame.type", frame_type(function))};
        message.add_packed_int32(4, numbers.begin(), numbers.end());
        return bytes;
    }

    const Profile& profile_;
    IdleRows idle_;
    StringTable strings_;
    Attributes attributes_;
    std::vector<std::vector<std::int32_t>> context_attributes_;
    std::vector<std::int32_t> stack_numbers_;
    std::vector<std::uint32_t> stacks_;
    BuildIds build_ids_;
};

}  // namespace

std::string otlp(const Profile& profile, const std::vector<std::uint32_t>& events, IdleRows idle) {
    return OtlpWriter(profile, idle).write(events);
}

}  // namespace perfvigil::analyzer
