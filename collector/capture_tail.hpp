// SPDX-License-Identifier: GPL-2.0-or-later
// The end of a capture of ours, behind its records: perf's header features, and the facts that are ours alone as a part
// of their own (file_trailer.hpp). They are no feature: perf inject (6.1) crashes on a bit that it does not know.
//
//   … records │ feature table │ features │ (attrs, ids: where the head has no room) │ facts │ trailer
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/build_id.hpp"
#include "collector/capture_features.hpp"
#include "collector/capture_header.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::collector {

// Records of so many bytes become one COMPRESSED record: even what does not compress fits its 16-bit size then.
inline constexpr std::size_t kCaptureBlockSize = 63U << 10;

struct CaptureSummary {
    struct Compression {
        int level = 0;
        std::uint64_t bytes_in = 0;
        std::uint64_t bytes_out = 0;
        std::uint32_t block_size = 0;
    };
    std::map<std::string, BuildId> build_ids{};  // of user files, by path
    std::optional<SampleTimes> sample_times{};   // none: no samples
    std::optional<Compression> compression{};
};

// Feature table and features, which will lie at `at`; their bits are set in `header`.
void append_features(const HostFacts& host, const std::vector<EventDescription>& events, const CaptureSummary& summary,
                     std::uint64_t at, CaptureHeader& header, std::vector<std::byte>& out);

// The last part of a file of which `out` begins at `at`.
void append_facts(const CaptureFacts& facts, std::uint64_t at, std::vector<std::byte>& out);

}  // namespace perfvigil::collector
