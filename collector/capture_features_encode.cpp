// SPDX-License-Identifier: GPL-2.0-or-later
// The writing half of capture_features.hpp.
#include <ctime>

#include "collector/capture_features.hpp"
#include "collector/record.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::size_t kTextAlignment = 64;  // NAME_ALIGN of tools/perf/util/build-id.h
constexpr std::uint16_t kMiscBuildIdSize = 1U << 15;
constexpr std::size_t kBuildIdPad = 3;  // data[20], size, three unused
constexpr std::size_t kMaxPath = 4096;

void append_text(std::string_view text, std::vector<std::byte>& out) {
    ByteWriter to(out);
    const std::size_t length_at = out.size();
    to.u32(0);
    to.padded_text(text, kTextAlignment, length_at + 4);
    to.patch(length_at, static_cast<std::uint32_t>(out.size() - length_at - 4));
}

}  // namespace

std::vector<std::byte> encode_text_feature(std::string_view text) {
    std::vector<std::byte> out;
    append_text(text, out);
    return out;
}

std::vector<std::byte> encode_command_line_feature(std::string_view command_line) {
    std::vector<std::byte> out;
    ByteWriter(out).u32(1);
    append_text(command_line, out);
    return out;
}

std::vector<std::byte> encode_numbers32_feature(std::initializer_list<std::uint32_t> numbers) {
    std::vector<std::byte> out;
    for (const auto number : numbers) ByteWriter(out).u32(number);
    return out;
}

std::vector<std::byte> encode_numbers64_feature(std::initializer_list<std::uint64_t> numbers) {
    std::vector<std::byte> out;
    for (const auto number : numbers) ByteWriter(out).u64(number);
    return out;
}

std::vector<std::byte> encode_events_feature(const std::vector<EventDescription>& events) {
    std::vector<std::byte> out;
    ByteWriter to(out);
    to.u32(static_cast<std::uint32_t>(events.size()));
    to.u32(kStoredAttrSize);
    for (const auto& event : events) {
        encode_attr(event.attr, out);
        to.u32(static_cast<std::uint32_t>(event.ids.size()));
        append_text(event.name, out);
        for (const EventId id : event.ids) to.u64(id.value);
    }
    return out;
}

std::vector<std::byte> encode_build_ids_feature(const std::vector<CaptureBuildId>& build_ids) {
    std::vector<std::byte> out;
    ByteWriter to(out);
    for (const auto& entry : build_ids) {
        const std::size_t start = out.size();
        const Bytes id = entry.build_id.bytes();
        to.u32(0);  // perf leaves the type open
        to.u16(static_cast<std::uint16_t>(entry.misc | kMiscBuildIdSize));
        to.u16(0);
        to.i32(entry.pid.value);
        to.bytes(id);
        to.zeros(BuildId::kMaxSize - id.size());
        to.u8(static_cast<std::uint8_t>(id.size()));
        to.zeros(kBuildIdPad);
        to.padded_text(std::string_view(entry.path).substr(0, kMaxPath - 1), kTextAlignment, out.size());
        to.patch(start + 6, static_cast<std::uint16_t>(out.size() - start));
    }
    return out;
}

std::vector<std::byte> encode_clock_data_feature(MonotonicTime monotonic, WallTime wall) {
    std::vector<std::byte> out;
    ByteWriter to(out);
    to.u32(1);
    to.u32(CLOCK_MONOTONIC);
    to.u64(static_cast<std::uint64_t>(wall.time_since_epoch().count()));
    to.u64(to_ns(monotonic));
    return out;
}

}  // namespace perfvigil::collector
