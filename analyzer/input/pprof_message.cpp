// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/pprof_message.hpp"

#include <exception>
#include <protozero/pbf_reader.hpp>

namespace perfvigil::analyzer {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr auto kVarint = pbf_wire_type::varint;
constexpr auto kBytes = pbf_wire_type::length_delimited;

// Fields of another wire type than the format's are passed over: protozero would assert.
PprofValueType value_type(protozero::data_view bytes) {
    PprofValueType result;
    for (pbf_reader in(bytes); in.next();) {
        switch (in.tag_and_type()) {
            case tag_and_type(1, kVarint): result.type = in.get_uint64(); break;
            case tag_and_type(2, kVarint): result.unit = in.get_uint64(); break;
            default: in.skip();
        }
    }
    return result;
}

PprofLabel label(protozero::data_view bytes) {
    PprofLabel result;
    for (pbf_reader in(bytes); in.next();) {
        switch (in.tag_and_type()) {
            case tag_and_type(1, kVarint): result.key = in.get_uint64(); break;
            case tag_and_type(2, kVarint): result.text = in.get_uint64(); break;
            case tag_and_type(3, kVarint): result.number = in.get_int64(); break;
            default: in.skip();
        }
    }
    return result;
}

void add_mapping(protozero::data_view bytes, PprofMessage& message) {
    std::uint64_t id = 0;
    PprofMapping mapping;
    for (pbf_reader in(bytes); in.next();) {
        switch (in.tag_and_type()) {
            case tag_and_type(1, kVarint): id = in.get_uint64(); break;
            case tag_and_type(5, kVarint): mapping.file = in.get_uint64(); break;
            case tag_and_type(6, kVarint): mapping.build_id = in.get_uint64(); break;
            default: in.skip();
        }
    }
    message.mappings[id] = mapping;
}

std::uint64_t function_of_line(protozero::data_view bytes) {
    std::uint64_t function = 0;
    for (pbf_reader in(bytes); in.next();) {
        if (in.tag_and_type() == tag_and_type(1, kVarint))
            function = in.get_uint64();
        else
            in.skip();
    }
    return function;
}

void add_location(protozero::data_view bytes, PprofMessage& message) {
    std::uint64_t id = 0;
    PprofLocation location;
    for (pbf_reader in(bytes); in.next();) {
        switch (in.tag_and_type()) {
            case tag_and_type(1, kVarint): id = in.get_uint64(); break;
            case tag_and_type(2, kVarint): location.mapping = in.get_uint64(); break;
            case tag_and_type(4, kBytes): location.functions.push_back(function_of_line(in.get_view())); break;
            default: in.skip();
        }
    }
    message.locations[id] = std::move(location);
}

void add_function(protozero::data_view bytes, PprofMessage& message) {
    std::uint64_t id = 0;
    std::uint64_t name = 0;
    std::uint64_t system_name = 0;
    for (pbf_reader in(bytes); in.next();) {
        switch (in.tag_and_type()) {
            case tag_and_type(1, kVarint): id = in.get_uint64(); break;
            case tag_and_type(2, kVarint): name = in.get_uint64(); break;
            case tag_and_type(3, kVarint): system_name = in.get_uint64(); break;
            default: in.skip();
        }
    }
    message.function_names[id] = name != 0 ? name : system_name;
}

std::string_view view_of(protozero::data_view bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

Result<PprofMessage> parse_pprof(Bytes bytes) {
    PprofMessage message;
    try {
        for (pbf_reader in(reinterpret_cast<const char*>(bytes.data()), bytes.size()); in.next();) {
            switch (in.tag_and_type()) {
                case tag_and_type(1, kBytes): message.types.push_back(value_type(in.get_view())); break;
                case tag_and_type(2, kBytes): message.samples.push_back(view_of(in.get_view())); break;
                case tag_and_type(3, kBytes): add_mapping(in.get_view(), message); break;
                case tag_and_type(4, kBytes): add_location(in.get_view(), message); break;
                case tag_and_type(5, kBytes): add_function(in.get_view(), message); break;
                case tag_and_type(6, kBytes): message.strings.push_back(view_of(in.get_view())); break;
                case tag_and_type(9, kVarint): message.time_ns = in.get_int64(); break;
                case tag_and_type(10, kVarint): message.duration_ns = in.get_int64(); break;
                case tag_and_type(11, kBytes): message.period_type = value_type(in.get_view()); break;
                case tag_and_type(12, kVarint): message.period = in.get_int64(); break;
                default: in.skip();
            }
        }
    } catch (const std::exception& damage) {
        return fail(ErrorCode::kInvalid, std::string("the pprof profile is damaged: ") + damage.what());
    }
    return message;
}

void parse_pprof_sample(std::string_view packed, PprofSample& sample) {
    sample.locations.clear();
    sample.values.clear();
    sample.labels.clear();
    for (pbf_reader in(packed.data(), packed.size()); in.next();) {
        switch (in.tag_and_type()) {
            case tag_and_type(1, kBytes):
                for (const auto id : in.get_packed_uint64()) sample.locations.push_back(id);
                break;
            case tag_and_type(1, kVarint): sample.locations.push_back(in.get_uint64()); break;
            case tag_and_type(2, kBytes):
                for (const auto value : in.get_packed_int64()) sample.values.push_back(value);
                break;
            case tag_and_type(2, kVarint): sample.values.push_back(in.get_int64()); break;
            case tag_and_type(3, kBytes): sample.labels.push_back(label(in.get_view())); break;
            default: in.skip();
        }
    }
}

}  // namespace perfvigil::analyzer
