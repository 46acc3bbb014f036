// SPDX-License-Identifier: GPL-2.0-or-later
// The reading half of profile_codec.hpp.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>
#include <protozero/pbf_reader.hpp>
#include <stdexcept>

#include "analyzer/profile/codec.hpp"
#include "analyzer/profile/fields.hpp"
#include "collector/zstd_stream.hpp"

namespace perfvigil::analyzer {
namespace {

// Sums and differences of two such times fit.
constexpr std::int64_t kFarthestTime = std::int64_t{1} << 61;

[[noreturn]] void damaged(const char* what) { throw std::runtime_error(what); }

// One message, its fields found first and taken by number then. protozero asserts wire types; here they are checked,
// for the bytes may be anybody's. Throws std::exception on damage.
class Reader {
public:
    template <class T>
    using Ref = T&;

    // How much may still be made: a message costs its writer two bytes and us hundreds.
    struct Budget {
        std::size_t messages = 0;
        std::size_t rows = 0;
    };

    Reader(protozero::data_view bytes, Budget& budget) : budget_(budget) {
        protozero::pbf_reader reader(bytes);
        while (reader.next()) {
            Field field{.tag = reader.tag(), .type = reader.wire_type()};
            switch (field.type) {
                case protozero::pbf_wire_type::varint: field.number = reader.get_uint64(); break;
                case protozero::pbf_wire_type::fixed64: field.number = reader.get_fixed64(); break;
                case protozero::pbf_wire_type::length_delimited: field.bytes = reader.get_view(); break;
                default: reader.skip(); continue;
            }
            fields_.push_back(field);
        }
    }

    template <class T>
    void number(std::uint32_t tag, T& value) const {
        const Field* field = last(tag, protozero::pbf_wire_type::varint);
        if (field != nullptr) value = checked<T>(field->number);
    }
    void signed_number(std::uint32_t tag, std::int64_t& value) const {
        const Field* field = last(tag, protozero::pbf_wire_type::varint);
        if (field != nullptr) value = protozero::decode_zigzag64(field->number);
    }
    void duration(std::uint32_t tag, Nanoseconds& value) const { value = Nanoseconds(time(tag)); }
    void wall_time(std::uint32_t tag, WallTime& value) const { value = WallTime(Nanoseconds(time(tag))); }
    void flag(std::uint32_t tag, bool& value) const {
        const Field* field = last(tag, protozero::pbf_wire_type::varint);
        if (field != nullptr) value = field->number != 0;
    }
    void real(std::uint32_t tag, double& value) const {
        const Field* field = last(tag, protozero::pbf_wire_type::fixed64);
        if (field == nullptr) return;
        value = std::bit_cast<double>(field->number);
        if (!std::isfinite(value)) damaged("a number is not finite");
    }
    template <class Enum>
    void choice(std::uint32_t tag, Enum& value, Enum last_choice) const {
        std::uint32_t number_of_choice = 0;
        number(tag, number_of_choice);
        if (number_of_choice > static_cast<std::uint32_t>(last_choice)) damaged("an unknown choice");
        value = static_cast<Enum>(number_of_choice);
    }
    void text(std::uint32_t tag, std::string& value) const {
        const Field* field = last(tag, protozero::pbf_wire_type::length_delimited);
        if (field != nullptr) value.assign(field->bytes.data(), field->bytes.size());
    }
    void texts(std::uint32_t tag, std::vector<std::string>& values) const {
        each(tag, [&](const Field& field) {
            spend();
            values.emplace_back(field.bytes.data(), field.bytes.size());
        });
    }
    void numbers(std::uint32_t tag, std::vector<std::uint32_t>& values) const {
        each_number(tag, [&](std::uint64_t value) { values.push_back(checked<std::uint32_t>(value)); });
    }
    void durations(std::uint32_t tag, std::array<Nanoseconds, kModes>& values) const {
        std::size_t count = 0;
        each_number(tag, [&](std::uint64_t value) {
            if (count == values.size()) damaged("too many modes");
            values[count++] = Nanoseconds(near(protozero::decode_zigzag64(value)));
        });
    }
    // The first column makes the rows, the others must be as long.
    template <class Row, class Value>
    void first_column(std::uint32_t tag, std::vector<Row>& rows, Value Row::* member) const {
        each_number(tag, [&](std::uint64_t value) {
            spend_row(budget_);
            rows.emplace_back().*member = checked<Value>(value);
        });
    }
    template <class Row, class Value>
    void column(std::uint32_t tag, std::vector<Row>& rows, Value Row::* member) const {
        std::size_t count = 0;
        each_number(tag, [&](std::uint64_t value) {
            if (count == rows.size()) damaged("columns of different lengths");
            rows[count++].*member = checked<Value>(value);
        });
        if (count != rows.size()) damaged("columns of different lengths");
    }
    template <class T>
    void message(std::uint32_t tag, T& value) const {
        const Field* field = last(tag, protozero::pbf_wire_type::length_delimited);
        if (field != nullptr) nested(*field, value);
    }
    template <class T>
    void messages(std::uint32_t tag, std::vector<T>& values) const {
        each(tag, [&](const Field& field) { nested(field, values.emplace_back()); });
    }

    static void spend_row(Budget& budget) {
        if (budget.rows == 0) damaged("more rows than its size allows");
        --budget.rows;
    }

private:
    struct Field {
        std::uint32_t tag = 0;
        protozero::pbf_wire_type type{};
        std::uint64_t number = 0;
        protozero::data_view bytes{};
    };

    template <class T>
    static T checked(std::uint64_t value) {
        if (value > std::numeric_limits<T>::max()) damaged("a number is out of range");
        return static_cast<T>(value);
    }
    static std::int64_t near(std::int64_t time) {
        if (time > kFarthestTime || time < -kFarthestTime) damaged("a time is out of range");
        return time;
    }
    [[nodiscard]] std::int64_t time(std::uint32_t tag) const {
        std::int64_t value = 0;
        signed_number(tag, value);
        return near(value);
    }
    // The last one counts, as protobuf has it; nullptr where there is none.
    [[nodiscard]] const Field* last(std::uint32_t tag, protozero::pbf_wire_type type) const {
        for (auto field = fields_.rbegin(); field != fields_.rend(); ++field) {
            if (field->tag != tag) continue;
            if (field->type != type) damaged("a field of another type");
            return &*field;
        }
        return nullptr;
    }
    template <class Visit>
    void each(std::uint32_t tag, Visit&& visit) const {
        for (const auto& field : fields_) {
            if (field.tag != tag) continue;
            if (field.type != protozero::pbf_wire_type::length_delimited) damaged("a field of another type");
            visit(field);
        }
    }
    template <class Visit>
    void each_number(std::uint32_t tag, Visit&& visit) const {
        each(tag, [&](const Field& field) {
            const char* at = field.bytes.data();
            const char* const end = at + field.bytes.size();
            while (at != end) visit(protozero::decode_varint(&at, end));
        });
    }
    void spend() const {
        if (budget_.messages == 0) damaged("more parts than its size allows");
        --budget_.messages;
    }
    template <class T>
    void nested(const Field& field, T& value) const {
        spend();
        Reader reader(field.bytes, budget_);
        fields(reader, value);
    }

    Budget& budget_;
    std::vector<Field> fields_;
};

void restore(ProfileColumns& columns, Profile& profile, Reader::Budget& budget) {
    const std::size_t functions = columns.function_names.size();
    if (columns.function_dsos.size() != functions || columns.function_kinds.size() != functions ||
        columns.stack_flags.size() != columns.stack_depths.size()) {
        damaged("columns of different lengths");
    }
    for (std::size_t i = 0; i < functions; ++i) {
        const std::uint32_t reason = columns.function_kinds[i] >> 1U;
        if (columns.function_dsos[i] >= columns.dso_names.size()) damaged("a function of no binary");
        if (reason > static_cast<std::uint32_t>(UnknownReason::kUnmapped)) damaged("an unknown reason");
        profile.functions.push_back({.name = std::move(columns.function_names[i]),
                                     .dso = columns.dso_names[columns.function_dsos[i]],
                                     .kernel = (columns.function_kinds[i] & 1U) != 0,
                                     .reason = static_cast<UnknownReason>(reason)});
    }
    if (columns.variant_functions.size() != columns.variant_names.size()) damaged("columns of different lengths");
    for (std::size_t i = 0; i < columns.variant_names.size(); ++i) {
        if (columns.variant_functions[i] >= functions) damaged("a variant of no function");
        auto& variants = profile.functions[columns.variant_functions[i]].variants;
        if (variants.size() == kMostVariants) damaged("too many variants");
        variants.push_back(std::move(columns.variant_names[i]));
    }
    auto next = columns.stack_functions.begin();
    for (std::size_t i = 0; i < columns.stack_depths.size(); ++i) {
        const std::uint32_t depth = columns.stack_depths[i];
        if (depth > columns.stack_functions.end() - next) damaged("a stack deeper than its functions");
        Reader::spend_row(budget);
        if (columns.stack_flags[i] > 0xff) damaged("unknown stack flags");
        profile.stacks.push_back(
            {.functions = {next, next + depth}, .flags = static_cast<std::uint8_t>(columns.stack_flags[i])});
        next += depth;
    }
    if (next != columns.stack_functions.end()) damaged("functions of no stack");
}

// Every number that is a position in a table is one.
void check_references(const Profile& profile) {
    for (const auto& stack : profile.stacks) {
        for (const auto function : stack.functions) {
            if (function >= profile.functions.size()) damaged("a frame of no function");
        }
    }
    for (const auto& sample : profile.samples) {
        if (sample.event >= profile.events.size() || sample.stack >= profile.stacks.size() ||
            sample.context >= profile.contexts.size()) {
            damaged("a sample of nothing");
        }
    }
    for (const auto& moment : profile.moments) {
        if (moment.totals.size() > profile.events.size()) damaged("totals of no event");
        for (const auto& top : moment.top) {
            if (top.event >= profile.events.size() || top.function >= profile.functions.size()) {
                damaged("a top function of nothing");
            }
        }
    }
}

}  // namespace

Result<Profile> decode_profile(Bytes bytes) {
    const auto unpacked = collector::unpack_frame(bytes);
    if (!unpacked) return fail(Error(unpacked.error()).at("profile"));
    const Bytes plain(*unpacked);
    try {
        // A message of a CPU takes more than 64 bytes, a sample more than 8; what is smaller is rare.
        Reader::Budget budget{.messages = 65536 + plain.size() / 16, .rows = (1U << 20) + plain.size() / 8};
        const Reader reader({reinterpret_cast<const char*>(plain.data()), plain.size()}, budget);
        std::uint32_t version = 0;
        reader.number(1, version);
        if (version == 0) return fail(ErrorCode::kInvalid, "not a profile: it has no version");
        if (version > kProfileVersion) {
            return fail(ErrorCode::kUnsupported, "the profile has version " + std::to_string(version) +
                                                     ", this program reads up to " + std::to_string(kProfileVersion));
        }
        Profile profile;
        ProfileColumns columns;
        fields(reader, profile);
        fields(reader, columns);
        restore(columns, profile, budget);
        check_references(profile);
        return profile;
    } catch (const std::exception& damage) {
        return fail(ErrorCode::kInvalid, std::string("the profile is damaged: ") + damage.what());
    }
}

}  // namespace perfvigil::analyzer
