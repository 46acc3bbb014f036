// SPDX-License-Identifier: GPL-2.0-or-later
// The frame of a perf.data file: where attrs, ids, data and features lie. Reading judges every number against the size
// of the file. Source: tools/perf/Documentation/perf.data-file-format.txt, util/header.c (Linux 6.1).
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "collector/event_attr.hpp"

namespace perfvigil::collector {

struct FileSection {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;

    // offset + size lies within a file of `file_size` bytes.
    [[nodiscard]] bool fits(std::uint64_t file_size) const { return offset <= file_size && size <= file_size - offset; }
};

inline constexpr std::size_t kFeatureBits = 256;
inline constexpr std::size_t kFileHeaderSize = 104;
inline constexpr std::size_t kPipeHeaderSize = 16;
inline constexpr std::size_t kAttrEntrySize = kStoredAttrSize + 16;  // of our own files: attr, then the section of ids
inline constexpr std::size_t kFeatureTableEntrySize = 16;

// Header features by their bit.
enum HeaderFeature : unsigned {
    kFeatureTracingData = 1,
    kFeatureBuildId = 2,
    kFeatureHostname = 3,
    kFeatureOsRelease = 4,
    kFeatureVersion = 5,
    kFeatureArch = 6,
    kFeatureCpuCount = 7,
    kFeatureCpuDescription = 8,
    kFeatureCpuid = 9,
    kFeatureTotalMemory = 10,
    kFeatureCommandLine = 11,
    kFeatureEventDescription = 12,
    kFeatureGroupDescription = 17,
    kFeatureAuxtrace = 18,
    kFeatureSampleTime = 21,
    kFeatureClockid = 23,
    kFeatureDirectory = 24,
    kFeatureCompressed = 27,
    kFeatureClockData = 29,
    // simpleperf
    kFeatureMetaInfo = 129,
    // docs/host-facts.proto, in captures of perfvigil before it had trailers (file_trailer.hpp)
    kFeatureHostFacts = 200,
};

struct CaptureHeader {
    Endian endian = Endian::kNative;
    int version = 2;
    bool pipe = false;  // attrs and features come as records
    std::uint64_t attr_size = 0;
    FileSection attrs;
    FileSection data;  // size 0: the recorder never finished the file
    std::bitset<kFeatureBits> features;
};

// Of the first bytes of a file (kFileHeaderSize are enough, fewer make a shorter header). Offsets are not yet judged.
[[nodiscard]] Result<CaptureHeader> parse_capture_header(Bytes start);

struct StoredAttr {
    EventAttr attr;
    std::vector<EventId> ids;
};

// The attrs that lie within the file, with the ids that do. What does not adds a sentence to `warnings`.
[[nodiscard]] std::vector<StoredAttr> read_attrs(Bytes file, const CaptureHeader& header,
                                                 std::vector<std::string>& warnings);

struct FeatureSection {
    unsigned bit = 0;
    FileSection section;
};

// The feature table behind the data. Sections outside the file are left out, with a sentence.
[[nodiscard]] std::vector<FeatureSection> read_feature_table(Bytes file, const CaptureHeader& header,
                                                             std::vector<std::string>& warnings);

// --- our own files

// Near the head, so that a killed recorder leaves them behind: the capture facts without cuts.
inline constexpr std::uint64_t kHeadFactsMagic = 0x3130444145485650;  // "PVHEAD01" in little-endian order
inline constexpr std::uint64_t kHeadFactsOffset = kFileHeaderSize;
[[nodiscard]] std::optional<Bytes> head_facts_of(Bytes file, const CaptureHeader& header);

void append_capture_header(const CaptureHeader& header, std::vector<std::byte>& out);
// One entry of the attrs section.
void append_attr_entry(const EventAttr& attr, FileSection ids, std::vector<std::byte>& out);

}  // namespace perfvigil::collector
