// SPDX-License-Identifier: GPL-2.0-or-later
// Opens what a capture may be: a file, a folder of perf's directory format, a pipe, bytes in memory; and finds the
// parts that hold records. Reads the header, attrs and features, no records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "collector/capture_features.hpp"
#include "collector/capture_header.hpp"
#include "collector/record_input.hpp"

namespace perfvigil::collector {

struct CaptureSource {
    std::string name;  // for people: the path, or "standard input"
    CaptureHeader header;
    std::vector<StoredAttr> attrs;  // pipes: none yet
    CaptureFeatures features;
    bool streamed = false;            // what was read cannot be read again
    bool facts_whole = false;         // features.facts are from the file's end, so its recorder finished it
    std::vector<RecordInput> inputs;  // more than one: directory format, no order among them
    std::vector<std::string> warnings;

    // What the inputs and views point into.
    std::vector<MappedFile> files;
    std::vector<std::byte> bytes;
    [[nodiscard]] Bytes main_file() const { return main_; }

    // "-": standard input. Of a file only its first `size` bytes: what lies behind is none of the capture.
    [[nodiscard]] static Result<CaptureSource> open(const std::string& path, std::uint64_t size = UINT64_MAX);
    [[nodiscard]] static Result<CaptureSource> from_bytes(std::vector<std::byte> bytes, std::string name);
    // `start` was read from it already.
    [[nodiscard]] static Result<CaptureSource> open_stream(UniqueFd fd, std::vector<std::byte> start, std::string name);

private:
    [[nodiscard]] static Result<CaptureSource> open_folder(const std::string& path);
    [[nodiscard]] Result<void> read_frame(Bytes file);
    void read_features(Bytes file);
    void read_facts_at_end(Bytes file);
    void check_sections(Bytes file);

    Bytes main_;
};

}  // namespace perfvigil::collector
