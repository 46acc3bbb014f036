// SPDX-License-Identifier: GPL-2.0-or-later
// The kinds of files that load_profile reads, and the names they have on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perfvigil::analyzer {

enum class InputFormat : std::uint8_t {
    kCapture,     // perf.data of any kind
    kScript,      // the text of perf script
    kFolded,      // one stack per line, outermost first: "a;b;c 12"
    kReport,      // the text of perf report --stdio
    kPprof,       // profile.proto, plain or in gzip
    kCpuProfile,  // the binary CPU profile of gperftools, which Go wrote too
    kProfile,     // what the daemon stores (docs/profile.proto)
};

[[nodiscard]] std::string_view input_format_name(InputFormat format);  // "perf.data", "script", …
[[nodiscard]] std::optional<InputFormat> parse_input_format(std::string_view name);
[[nodiscard]] std::string input_format_names();  // "perf.data, script, …"

}  // namespace perfvigil::analyzer
