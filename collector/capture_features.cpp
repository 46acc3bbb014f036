// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_features.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"
#include "collector/record.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::uint16_t kMiscBuildIdSize = 1U << 15;
constexpr std::size_t kBuildIdField = 24;

std::string_view view_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// A length, then so many bytes; the text ends at its NUL.
std::string read_text(ByteReader& in) {
    const std::string_view field = view_of(in.take(in.u32()));
    return std::string(field.substr(0, std::min(field.find('\0'), field.size())));
}

bool text_feature(unsigned bit, ByteReader& in, HostFacts& host) {
    std::string* text = nullptr;
    switch (bit) {
        case kFeatureHostname: text = &host.hostname; break;
        case kFeatureOsRelease: text = &host.os_release; break;
        case kFeatureVersion: text = &host.version; break;
        case kFeatureArch: text = &host.architecture; break;
        case kFeatureCpuDescription: text = &host.cpu_description; break;
        case kFeatureCpuid: text = &host.cpuid; break;
        default: return false;
    }
    *text = read_text(in);
    return true;
}

void read_command_line(ByteReader& in, HostFacts& host) {
    const std::uint32_t count = in.u32();
    std::string line;
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        if (i != 0) line += ' ';
        line += read_text(in);
    }
    if (in.ok()) host.command_line = std::move(line);
}

void read_events(ByteReader& in, CaptureFeatures& features) {
    const std::uint32_t count = in.u32();
    const std::uint32_t attr_size = in.u32();
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
        auto attr = decode_attr(in.take(attr_size), in.endian());
        const std::uint32_t ids = in.u32();
        EventDescription event;
        event.name = read_text(in);
        ByteReader list(in.take(std::uint64_t{8} * ids), in.endian());
        while (list.remaining() >= 8) event.ids.push_back(EventId{list.u64()});
        if (!in.ok()) break;
        if (attr) event.attr = *attr;
        features.events.push_back(std::move(event));
    }
}

void read_clock_data(ByteReader& in, HostFacts& host) {
    const std::uint32_t version = in.u32();
    const std::uint32_t clock = in.u32();
    const std::uint64_t wall = in.u64();
    const std::uint64_t reference = in.u64();
    (void)clock;  // the bridge holds for whichever clock stamped the records
    constexpr std::uint64_t kFarFuture = std::uint64_t{1} << 61;  // sums of such times still fit
    if (!in.ok() || version != 1 || wall > kFarFuture || reference > kFarFuture) return;
    host.wall_reference = WallTime(Nanoseconds(static_cast<std::int64_t>(wall)));
    host.monotonic_reference = monotonic_from_ns(reference);
}

// perf writes zeros where it did not look at its samples (--buildid-all, --no-buildid).
void read_sample_times(ByteReader& in, CaptureFeatures& features) {
    const std::uint64_t first = in.u64();
    const std::uint64_t last = in.u64();
    constexpr std::uint64_t kFarFuture = std::uint64_t{1} << 61;
    if (!in.ok() || first == 0 || last < first || last > kFarFuture) return;
    features.sample_times = {monotonic_from_ns(first), monotonic_from_ns(last)};
}

// Keys and values, each ended by a NUL.
void read_meta_info(ByteReader& in, CaptureFeatures& features) {
    std::string_view text = view_of(in.rest());
    while (!text.empty()) {
        const std::string_view key = next_piece(text, '\0');
        const std::string_view value = next_piece(text, '\0');
        features.meta_info.emplace_back(key, value);
        if (key == "kernel_version") features.host.os_release = value;
    }
}

// Returns false where the section ended before its content did.
bool read_feature(unsigned bit, Bytes section, Endian endian, CaptureFeatures& features) {
    ByteReader in(section, endian);
    if (text_feature(bit, in, features.host)) return in.ok();
    switch (bit) {
        case kFeatureTracingData: features.tracepoints = read_tracepoint_names(section); break;
        case kFeatureBuildId: features.build_ids = read_build_ids(section, endian); break;
        case kFeatureCpuCount:
            features.host.cpus_present = in.u32();
            features.host.cpus_online = in.u32();
            break;
        case kFeatureTotalMemory: features.host.total_memory_kib = in.u64(); break;
        case kFeatureCommandLine: read_command_line(in, features.host); break;
        case kFeatureEventDescription: read_events(in, features); break;
        case kFeatureDirectory: features.directory = true; break;
        case kFeatureSampleTime: read_sample_times(in, features); break;
        case kFeatureClockData: read_clock_data(in, features.host); break;
        case kFeatureMetaInfo: read_meta_info(in, features); break;
        default: break;
    }
    return in.ok();
}

// In the layout before 2010 entries have no pid, so a name read in today's place lacks its first four letters.
constexpr std::string_view kKernelNameOldLayout = "nel.kallsyms]";

struct BuildIdTable {
    std::vector<CaptureBuildId> entries;
    bool looks_old = false;
};

BuildIdTable read_build_id_table(Bytes table, Endian endian, bool old_layout) {
    BuildIdTable read;
    ByteReader in(table, endian);
    while (in.remaining() >= kRecordHeaderSize) {
        in.skip(4);  // type
        CaptureBuildId entry;
        entry.misc = in.u16();
        const std::uint16_t size = in.u16();
        if (size <= kRecordHeaderSize) break;
        // perf swaps the header of an entry and nothing else (util/header.c, perf_header__read_build_ids()).
        const Bytes rest = in.take(size - kRecordHeaderSize);
        if (!in.ok()) break;
        ByteReader body(rest);
        entry.pid = old_layout ? Pid{-1} : Pid{body.i32()};
        const Bytes field = body.take(kBuildIdField);
        entry.path = body.text_field(body.remaining());
        if (!body.ok()) break;
        std::size_t length = BuildId::kMaxSize;
        if ((entry.misc & kMiscBuildIdSize) != 0)
            length = std::min(length, std::to_integer<std::size_t>(field[length]));
        entry.build_id = BuildId(field.first(length));
        read.looks_old = read.looks_old || entry.path.starts_with(kKernelNameOldLayout);
        read.entries.push_back(std::move(entry));
    }
    return read;
}

}  // namespace

void decode_feature(unsigned bit, Bytes section, Endian endian, CaptureFeatures& features,
                    std::vector<std::string>& warnings) {
    if (bit == kFeatureHostFacts) {
        auto facts = decode_capture_facts(section);
        if (facts)
            features.facts = std::move(*facts);
        else
            warnings.push_back(facts.error().message);
        return;
    }
    if (!read_feature(bit, section, endian, features))
        warnings.push_back(fmt::format("header feature {} ends within its content", bit));
    if (bit != kFeatureBuildId) return;
    for (const auto& entry : features.build_ids) {
        if (entry.path.starts_with(kKernelMapping)) features.host.kernel_build_id = entry.build_id;
    }
}

std::vector<std::string> simpleperf_event_names(const CaptureFeatures& features) {
    std::vector<std::string> names;
    for (const auto& [key, value] : features.meta_info) {
        if (key != "event_type_info") continue;
        for (std::string_view line : split(value, '\n')) names.emplace_back(next_piece(line, ','));
    }
    return names;
}

std::vector<CaptureBuildId> read_build_ids(Bytes table, Endian endian) {
    auto read = read_build_id_table(table, endian, false);
    if (read.looks_old) read = read_build_id_table(table, endian, true);
    return std::move(read.entries);
}

}  // namespace perfvigil::collector
