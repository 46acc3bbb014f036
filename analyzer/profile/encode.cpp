// SPDX-License-Identifier: GPL-2.0-or-later
// The writing half of profile_codec.hpp.
#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <protozero/pbf_writer.hpp>

#include "analyzer/profile/codec.hpp"
#include "analyzer/profile/fields.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr int kCompressionLevel = 6;

// Values equal to proto3's defaults are left out.
class Writer {
public:
    template <class T>
    using Ref = const T&;

    explicit Writer(std::string& out) : writer_(out) {}

    template <class T>
    void number(std::uint32_t tag, T value) {
        if (value != 0) writer_.add_uint64(tag, value);
    }
    void signed_number(std::uint32_t tag, std::int64_t value) {
        if (value != 0) writer_.add_sint64(tag, value);
    }
    void duration(std::uint32_t tag, Nanoseconds value) { signed_number(tag, value.count()); }
    void wall_time(std::uint32_t tag, WallTime value) { signed_number(tag, value.time_since_epoch().count()); }
    void flag(std::uint32_t tag, bool value) { number(tag, value ? 1U : 0U); }
    void real(std::uint32_t tag, double value) {
        if (std::bit_cast<std::uint64_t>(value) != 0) writer_.add_double(tag, value);
    }
    template <class Enum>
    void choice(std::uint32_t tag, Enum value, Enum /*last*/) {
        number(tag, static_cast<std::uint32_t>(value));
    }
    void text(std::uint32_t tag, const std::string& value) {
        if (!value.empty()) writer_.add_string(tag, value);
    }
    void texts(std::uint32_t tag, const std::vector<std::string>& values) {
        for (const auto& value : values) writer_.add_string(tag, value);
    }
    template <class Values>
    void numbers(std::uint32_t tag, const Values& values) {
        writer_.add_packed_uint64(tag, values.begin(), values.end());
    }
    void durations(std::uint32_t tag, const std::array<Nanoseconds, kModes>& values) {
        std::array<std::int64_t, kModes> plain{};
        std::ranges::transform(values, plain.begin(), [](Nanoseconds value) { return value.count(); });
        writer_.add_packed_sint64(tag, plain.begin(), plain.end());
    }
    template <class Row, class Value>
    void column(std::uint32_t tag, const std::vector<Row>& rows, Value Row::* member) {
        std::vector<std::uint64_t> values(rows.size());
        std::ranges::transform(rows, values.begin(), [member](const Row& row) { return row.*member; });
        numbers(tag, values);
    }
    template <class Row, class Value>
    void first_column(std::uint32_t tag, const std::vector<Row>& rows, Value Row::* member) {
        column(tag, rows, member);
    }
    template <class T>
    void message(std::uint32_t tag, const T& value) {
        std::string inner;
        Writer nested(inner);
        fields(nested, value);
        writer_.add_message(tag, inner);
    }
    template <class T>
    void messages(std::uint32_t tag, const std::vector<T>& values) {
        for (const auto& value : values) message(tag, value);
    }

private:
    protozero::pbf_writer writer_;
};

ProfileColumns columns_of(const Profile& profile) {
    ProfileColumns columns;
    boost::unordered_flat_map<std::string_view, std::uint32_t> dsos;
    for (const auto& function : profile.functions) {
        const auto [at, added] = dsos.emplace(function.dso, static_cast<std::uint32_t>(dsos.size()));
        if (added) columns.dso_names.push_back(function.dso);
        for (const auto& variant : function.variants) {
            columns.variant_functions.push_back(static_cast<std::uint32_t>(columns.function_names.size()));
            columns.variant_names.push_back(variant);
        }
        columns.function_names.push_back(function.name);
        columns.function_dsos.push_back(at->second);
        columns.function_kinds.push_back((static_cast<std::uint32_t>(function.reason) << 1U) |
                                         (function.kernel ? 1U : 0U));
    }
    for (const auto& stack : profile.stacks) {
        columns.stack_depths.push_back(static_cast<std::uint32_t>(stack.functions.size()));
        columns.stack_flags.push_back(stack.flags);
        columns.stack_functions.insert(columns.stack_functions.end(), stack.functions.begin(), stack.functions.end());
    }
    return columns;
}

}  // namespace

std::vector<std::byte> encode_profile(const Profile& profile) {
    std::string plain;
    Writer writer(plain);
    writer.number(1, kProfileVersion);
    fields(writer, profile);
    fields(writer, columns_of(profile));
    std::vector<std::byte> out(ZSTD_compressBound(plain.size()));
    const std::size_t size = ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), kCompressionLevel);
    // Into room of compressBound's size it can only fail for want of memory.
    if (ZSTD_isError(size) != 0) throw std::bad_alloc();
    out.resize(size);
    out.shrink_to_fit();
    return out;
}

}  // namespace perfvigil::analyzer
