// SPDX-License-Identifier: GPL-2.0-or-later
// The perf map of a living process: found where the process sees /tmp, under the number it has in its own pid
// namespace, and believed only when its owner is the process's user or root.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/symbols/file_source.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"

namespace perfvigil::analyzer {

[[nodiscard]] Result<OpenedFileRef> open_perf_map(Pid pid, const std::string& proc = "/proc");

// The number a process has in the innermost pid namespace: the last of "NSpid:" in /proc/PID/status.
[[nodiscard]] Pid innermost_pid(std::string_view status, Pid outer);

}  // namespace perfvigil::analyzer
