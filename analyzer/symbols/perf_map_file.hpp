// SPDX-License-Identifier: GPL-2.0-or-later
// The file of a perf map: where it lies, whether it is to be believed, and what it holds so far.
//
//   the process lives   where it sees /tmp, under the number it has in its own pid namespace, then under ours; then in
//                       our own /tmp. Owner: the process's user or root. Written since it started
//   it is gone          in our own /tmp. Owner: root or who runs us, as perf has it. Written since a given time
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/perf_map.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"

namespace perfvigil::analyzer {

struct PerfMapSearch {
    std::string proc = "/proc";
    std::string host_root = "/";
    WallTime gone_since{};  // a process that is gone was there then, or later
};

[[nodiscard]] Result<OpenedFileRef> open_perf_map(Pid pid, const PerfMapSearch& search);

// The number a process has in the innermost pid namespace: the last of "NSpid:" in /proc/PID/status.
[[nodiscard]] Pid innermost_pid(std::string_view status, Pid outer);

// One perf map, read as it grows.
class PerfMapReading {
public:
    explicit PerfMapReading(const PerfMapLimits& limits = {}) : map_(limits) {}

    // False where the file does not go on from what was read: it is another one, or was written anew.
    [[nodiscard]] bool goes_on_in(const OpenedFile& file) const;
    // Takes what is new, at most until `most` bytes of the file were taken in all.
    void read_on(const OpenedFile& file, std::uint64_t most);

    [[nodiscard]] const PerfMap& map() const { return map_; }
    [[nodiscard]] bool cut() const { return cut_ || map_.cut(); }

private:
    PerfMap map_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    std::uint64_t taken_ = 0;
    std::string last_;  // of what was taken: tells a file that was written anew
    bool cut_ = false;
};

}  // namespace perfvigil::analyzer
