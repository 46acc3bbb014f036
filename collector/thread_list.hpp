// SPDX-License-Identifier: GPL-2.0-or-later
// The threads that a target means right now.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "collector/recording_options.hpp"

namespace perfvigil::collector {

struct TargetThread {
    Pid pid{};
    Tid tid{};

    friend bool operator==(const TargetThread&, const TargetThread&) = default;
};

// For Processes /proc/PID/task is walked until two walks agree (a process may be creating threads). Sorted by tid,
// each once. A process or thread that does not exist is an error; AllCpus gives an empty list.
[[nodiscard]] Result<std::vector<TargetThread>> list_threads(const std::string& proc_root,
                                                             const RecordingTarget& target);

}  // namespace perfvigil::collector
