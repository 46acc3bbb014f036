// SPDX-License-Identifier: GPL-2.0-or-later
// One line of `perf script` taken apart. Pure functions of the line; every field of it may be absent, as -F has it, and
// a thread's name may look like any of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ids.hpp"
#include "base/time.hpp"

namespace perfvigil::analyzer {

// "COMM PID/TID [CPU] TIME: PERIOD EVENT: REST". Views into the line.
struct ScriptHeader {
    std::string_view comm;  // without the blanks around it
    std::optional<Pid> pid{};
    std::optional<Tid> tid{};
    std::optional<CpuId> cpu{};
    std::optional<Nanoseconds> time{};  // of the recording's clock
    std::optional<std::uint64_t> period{};
    std::string_view event{};  // empty where the line names none
    std::string_view rest{};   // a tracepoint's text, or the one frame that is printed without call chains
};

// Anchored from the right: of all places where "TID [CPU] TIME:" could stand the last one counts that leaves no more
// than a thread's name to its left. Lines without a time need a tid and an event.
[[nodiscard]] std::optional<ScriptHeader> parse_script_header(std::string_view line);
// What stands right in front of a frame is a header, whatever is missing in it.
[[nodiscard]] ScriptHeader parse_bare_script_header(std::string_view line);

// "PERF_RECORD_MMAP2 …" where an event should be: --show-mmap-events and its like.
[[nodiscard]] bool is_record_line(const ScriptHeader& header);

// What follows a frame's address: "SYMBOL+0xOFFSET (DSO)".
struct ScriptFrame {
    std::string_view symbol;
    std::string_view dso;  // empty where none is printed
    bool inlined = false;  // "(inlined)": the DSO is that of the frame it was inlined into
};
[[nodiscard]] ScriptFrame parse_script_symbol(std::string_view text);

// A line of a call chain: `text` after blanks and an address in hexadecimal; empty where it is none.
[[nodiscard]] std::string_view after_frame_address(std::string_view line);

// The only frame of a sample, behind its event.
[[nodiscard]] bool looks_like_frame(std::string_view text);

inline constexpr std::size_t kMostCommBytes = 15;  // TASK_COMM_LEN without its NUL

}  // namespace perfvigil::analyzer
