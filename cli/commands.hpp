// SPDX-License-Identifier: GPL-2.0-or-later
// The commands of perfvigil, each an options struct and a function that returns the exit code:
// 0 done (warnings included), 1 wrong usage, 2 nothing could be read or recorded. Output goes to stdout, everything
// said about it to stderr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "config/options.hpp"

namespace perfvigil::cli {

inline constexpr int kDone = 0;
inline constexpr int kUsage = 1;
inline constexpr int kFailed = 2;

enum class OutputFormat : std::uint8_t { kText, kJson };

struct StatusOptions {
    std::string socket;
    OutputFormat format = OutputFormat::kText;
};
[[nodiscard]] int run_status(const StatusOptions& options);

struct ReportCommandOptions {
    std::string socket;
    std::string source = "latest";  // a window's id, "latest", or a capture file ("-": standard input)
    OutputFormat format = OutputFormat::kText;
    std::optional<std::size_t> top;  // default: 25 rows as text, everything as JSON
    bool idle = false;
};
[[nodiscard]] int run_report(const ReportCommandOptions& options);

struct RecordCommandOptions {
    std::string output;  // empty: nothing is kept, the report is printed
    bool all_cpus = false;
    std::vector<std::int32_t> pids;
    std::vector<std::int32_t> tids;
    config::CpuSelection cpus{.kind = config::CpuSelection::Kind::kAll, .list = {}};
    std::vector<std::string> command;
    std::optional<Nanoseconds> duration;
    std::uint32_t frequency = 99;
    std::vector<std::string> events;  // empty: cycles and cpu-clock
    std::optional<std::uint64_t> ring_bytes;
    std::uint16_t max_stack = 127;
    bool call_chains = true;
    int compression = 3;
    OutputFormat format = OutputFormat::kText;
};
[[nodiscard]] int run_record(const RecordCommandOptions& options);

// "perfvigil: <message>" on stderr; returns `code`.
int complain(const Error& error, int code = kFailed);

// Columns of the terminal on stdout; 0 when it is a pipe or a file: lines are not cut there.
[[nodiscard]] std::size_t output_width();

}  // namespace perfvigil::cli
