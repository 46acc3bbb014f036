// SPDX-License-Identifier: GPL-2.0-or-later
// What the header features of a perf.data file say, whether they stand behind the data or come as HEADER_FEATURE
// records. Source: tools/perf/util/header.c (Linux 6.1), write_*() and process_*(); simpleperf's record_file_format.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/build_id.hpp"
#include "base/bytes.hpp"
#include "collector/capture_facts.hpp"
#include "collector/capture_header.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::collector {

// How perf names the kernel's mapping; what follows is the symbol that it was relocated by.
inline constexpr std::string_view kKernelMapping = "[kernel.kallsyms]";

struct CaptureBuildId {
    BuildId build_id;
    Pid pid{};  // -1: kernel or any
    std::uint16_t misc = 0;
    std::string path;
};

struct EventDescription {
    EventAttr attr;
    std::string name;
    std::vector<EventId> ids;
};

// A tracepoint's format, from the recorder's copy of tracefs.
struct TracepointName {
    std::uint64_t id = 0;  // attr.config
    std::string name;      // "sched:sched_switch"
};

// Of the first and the last sample, whatever their order in the file.
struct SampleTimes {
    MonotonicTime first{};
    MonotonicTime last{};
};

struct CaptureFeatures {
    HostFacts host;  // from perf's own features
    std::vector<EventDescription> events;
    std::vector<CaptureBuildId> build_ids;
    std::vector<TracepointName> tracepoints;
    std::vector<std::pair<std::string, std::string>> meta_info;  // simpleperf
    std::optional<CaptureFacts> facts;                           // ours
    bool directory = false;
    std::optional<SampleTimes> sample_times;  // absent too where they mean nothing
};

// Adds what the section says. What it cannot read of it is left out with a sentence in `warnings`. Unknown bits are
// skipped in silence.
void decode_feature(unsigned bit, Bytes section, Endian endian, CaptureFeatures& features,
                    std::vector<std::string>& warnings);

// "name,type,config" lines of simpleperf's meta info, in the order of the attrs.
[[nodiscard]] std::vector<std::string> simpleperf_event_names(const CaptureFeatures& features);

// The names of tracepoints in a TRACING_DATA section (trace-cmd's format as perf writes it).
[[nodiscard]] std::vector<TracepointName> read_tracepoint_names(Bytes section);

// The entries of a build-id table, or one BUILD_ID record; of all layouts. Stops at the first damaged one.
[[nodiscard]] std::vector<CaptureBuildId> read_build_ids(Bytes table, Endian endian);

// --- writing

[[nodiscard]] std::vector<std::byte> encode_text_feature(std::string_view text);
[[nodiscard]] std::vector<std::byte> encode_command_line_feature(std::string_view command_line);
[[nodiscard]] std::vector<std::byte> encode_numbers32_feature(std::initializer_list<std::uint32_t> numbers);
[[nodiscard]] std::vector<std::byte> encode_numbers64_feature(std::initializer_list<std::uint64_t> numbers);
[[nodiscard]] std::vector<std::byte> encode_events_feature(const std::vector<EventDescription>& events);
[[nodiscard]] std::vector<std::byte> encode_build_ids_feature(const std::vector<CaptureBuildId>& build_ids);
[[nodiscard]] std::vector<std::byte> encode_clock_data_feature(MonotonicTime monotonic, WallTime wall);

}  // namespace perfvigil::collector
