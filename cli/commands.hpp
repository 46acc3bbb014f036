// SPDX-License-Identifier: GPL-2.0-or-later
// The commands of perfvigil. Each adds itself to the command line and, when it was called, leaves the exit code:
// 0 done (warnings included), 1 wrong usage, 2 nothing could be read or recorded, 3 a rule that was given is broken
// (diff --fail-on); doctor has its own (0 well, 1 degraded, 2 broken). Output goes to stdout, everything said about it
// to stderr.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.hpp"

namespace CLI {
class App;
}

namespace perfvigil::cli {

inline constexpr int kDone = 0;
inline constexpr int kUsage = 1;
inline constexpr int kFailed = 2;
inline constexpr int kRuleBroken = 3;

enum class OutputFormat : std::uint8_t { kText, kJson };

// Each adds itself to the command line.
void add_status(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_record(CLI::App& app, int& exit_code);
void add_capture(CLI::App& app, int& exit_code);
void add_freeze(CLI::App& app, int& exit_code);  // freeze, thaw and captures
void add_export(CLI::App& app, int& exit_code);
void add_annotate(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_kallsyms(CLI::App& app, int& exit_code);
void add_bundle(CLI::App& app, int& exit_code);
void add_windows(CLI::App& app, int& exit_code);
void add_top(CLI::App& app, int& exit_code);
void add_web(CLI::App& app, int& exit_code);

// "perfvigil: <message>" on stderr; returns `code`.
int complain(const Error& error, int code = kFailed);

// Columns of the terminal on stdout; 0 when it is a pipe or a file: lines are not cut there.
[[nodiscard]] std::size_t output_width();

}  // namespace perfvigil::cli
