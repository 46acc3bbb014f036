// SPDX-License-Identifier: GPL-2.0-or-later
// Makes a capture whole whose recorder was killed: cut behind its last whole record, with what perf needs behind the
// records, and under its final name. Works on the file in place; killed itself, it is done again.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace perfvigil::collector {

struct RecoveredCapture {
    std::string path;         // final name
    std::uint64_t bytes = 0;  // of records
    std::uint64_t torn = 0;   // bytes behind the last whole record
};

// `partial`: partial_capture_path() of its final name. kInvalid, kTruncated: no capture of ours, or not one record is
// whole; the file stays as it is.
[[nodiscard]] Result<RecoveredCapture> recover_capture(const std::string& partial);

}  // namespace perfvigil::collector
