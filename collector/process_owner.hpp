// SPDX-License-Identifier: GPL-2.0-or-later
// Which user a process runs as. No record tells: it is read from /proc while the process lives.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.hpp"

namespace perfvigil::collector {

using Uid = StrongId<struct UidTag, std::uint32_t>;

struct ProcessOwner {
    Uid real{};
    Uid effective{};  // another one in programs with the set-user-id bit

    friend bool operator==(const ProcessOwner&, const ProcessOwner&) = default;
};

// The "Uid:" line of a /proc/PID/status (proc_pid_status(5)); nullopt where there is none.
[[nodiscard]] std::optional<ProcessOwner> parse_process_owner(std::string_view status);

// nullopt where it has ended or may not be read.
[[nodiscard]] std::optional<ProcessOwner> read_process_owner(const std::string& proc, Pid pid);

}  // namespace perfvigil::collector
