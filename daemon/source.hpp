// SPDX-License-Identifier: GPL-2.0-or-later
// Where the records of this run come from: the kernel, or a capture that is replayed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "collector/capture_reader.hpp"
#include "collector/recording_session.hpp"
#include "config/options.hpp"

namespace perfvigil::daemon {

struct RunSource {
    std::string name;  // "kernel", or the capture's path
    std::unique_ptr<collector::RecordSource> records;
    collector::RecordingSession* session = nullptr;  // == records, when live
    // The capture under its pacing, when replaying: its header's facts.
    const collector::CaptureReader* capture = nullptr;
    collector::HostFacts host;
};

[[nodiscard]] Result<RunSource> open_kernel(const config::Options& options, const Clock& clock);
[[nodiscard]] Result<RunSource> open_replay(const std::string& path, double speed, const Clock& clock);

}  // namespace perfvigil::daemon
