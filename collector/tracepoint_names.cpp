// SPDX-License-Identifier: GPL-2.0-or-later
// Reads tracepoint names out of TRACING_DATA: the recorder's copy of tracefs' format files, in the layout of
// tools/perf/util/trace-event-info.c. Of each format only "name:" and "ID:" matter here.
#include "base/text.hpp"
#include "collector/capture_features.hpp"

namespace perfvigil::collector {
namespace {

std::string_view view_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// A text of unknown length, ended by a NUL.
std::string_view take_text(ByteReader& in) {
    ByteReader ahead = in;
    const std::string_view rest = view_of(ahead.rest());
    const std::size_t length = std::min(rest.find('\0'), rest.size());
    in.skip(length + 1);
    return rest.substr(0, length);
}

std::optional<TracepointName> name_in_format(std::string_view system, std::string_view format) {
    TracepointName found;
    bool has_id = false;
    while (!format.empty()) {
        std::string_view line = next_piece(format, '\n');
        const std::string_view key = next_piece(line, ':');
        if (key == "name") found.name = std::string(system) + ":" + std::string(trim(line));
        if (key == "ID") {
            const auto id = parse_number<std::uint64_t>(trim(line));
            has_id = id.has_value();
            found.id = id.value_or(0);
        }
        if (key == "format") break;
    }
    if (!has_id || found.name.empty()) return std::nullopt;
    return found;
}

void read_formats(ByteReader& in, std::string_view system, std::vector<TracepointName>& names) {
    const std::uint32_t count = in.u32();
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        auto name = name_in_format(system, view_of(in.take(in.u64())));
        if (name) names.push_back(std::move(*name));
    }
}

}  // namespace

std::vector<TracepointName> read_tracepoint_names(Bytes section) {
    std::vector<TracepointName> names;
    constexpr std::string_view kMagic = "\x17\x08\x44tracing";
    if (view_of(section).substr(0, kMagic.size()) != kMagic) return names;
    ByteReader start(section);
    start.skip(kMagic.size());
    (void)take_text(start);  // version
    const bool big = start.u8() != 0;
    const bool native = big == (std::endian::native == std::endian::big);
    ByteReader in(section, native ? Endian::kNative : Endian::kSwapped);
    in.skip(start.position());
    in.skip(1);  // size of a long
    in.skip(4);  // page size
    for (int i = 0; i < 2; ++i) {
        (void)take_text(in);  // "header_page", "header_event"
        in.skip(in.u64());
    }
    read_formats(in, "ftrace", names);
    const std::uint32_t systems = in.u32();
    for (std::uint32_t i = 0; i < systems && in.ok(); ++i) {
        const std::string_view system = take_text(in);
        read_formats(in, system, names);
    }
    return names;
}

}  // namespace perfvigil::collector
