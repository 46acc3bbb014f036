// SPDX-License-Identifier: GPL-2.0-or-later
// A capture and the evidence that was bundled with it, from wherever it comes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analyzer/bundle/evidence.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "collector/capture_reader.hpp"

namespace perfvigil::analyzer {

struct OpenedCapture {
    std::unique_ptr<collector::CaptureReader> reader;
    std::shared_ptr<const Evidence> evidence;  // null: it is no bundle, or `warnings` say why not
    std::uint64_t capture_size = 0;            // of a file: without the evidence behind it
    std::vector<std::string> warnings;         // sentences: evidence is there, but of no use
};

// "-": standard input; a folder of perf's directory format.
[[nodiscard]] Result<OpenedCapture> open_capture(const std::string& path);
[[nodiscard]] Result<OpenedCapture> open_capture(std::vector<std::byte> bytes, std::string name);
// A stream whose first bytes, `start`, were looked at. A bundle that was recorded through a pipe (perf record -o -) is
// read as it comes, so its evidence, which stands at the end, is not seen: give it as a file.
[[nodiscard]] Result<OpenedCapture> open_capture(UniqueFd fd, std::vector<std::byte> start, std::string name);

}  // namespace perfvigil::analyzer
