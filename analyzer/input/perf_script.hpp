// SPDX-License-Identifier: GPL-2.0-or-later
// Text of `perf script` into a Profile, in whatever shape -F made it print: what a line lacks is missing from the
// profile and said there. Events stay apart, each weighs its periods, or one per sample where none are printed. Where
// the text holds times and CPUs, CPUs are busy as its clock's samples say.
#pragma once

#include <optional>

#include "analyzer/input/profile_import.hpp"
#include "analyzer/input/text_lines.hpp"
#include "analyzer/profile.hpp"
#include "analyzer/sample_filter.hpp"
#include "analyzer/sample_selection.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

struct ScriptOptions {
    Nanoseconds slice_length = kImportedSlice;
    SampleSelection samples{};         // by_line: source lines are not read from texts
    std::optional<SampleSpan> span{};  // what a range in percent is of: script_span()
};
[[nodiscard]] Result<Profile> read_perf_script(TextLines& lines, const ScriptOptions& options = {});

// When the first and the last sample of a text were taken; nullopt: it does not say.
[[nodiscard]] std::optional<SampleSpan> script_span(TextLines& lines);

}  // namespace perfvigil::analyzer
