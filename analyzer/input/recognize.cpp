// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/recognize.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "analyzer/input/byte_source.hpp"
#include "analyzer/input/cpu_profile.hpp"
#include "analyzer/input/folded.hpp"
#include "analyzer/input/line_faults.hpp"
#include "analyzer/input/pprof.hpp"
#include "analyzer/input/script_line.hpp"
#include "analyzer/input/text_lines.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::array<std::string_view, 3> kCaptureMagics{"PERFILE2", "2ELIFREP", "PERFFILE"};
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Bytes that no text has.
bool has_controls(Bytes start) {
    constexpr std::size_t kLooked = 4096;
    return std::ranges::any_of(start.first(std::min(start.size(), kLooked)), [](std::byte byte) {
        const auto value = std::to_integer<unsigned>(byte);
        return value < 0x20 && value != '\t' && value != '\n' && value != '\r' && value != '\f' && value != 0x1b &&
               value != 1;
    });
}

// Kinds that hold no profile, or not one of ours, by what their first lines begin with or hold.
struct Foreign {
    std::string_view begins;
    std::string_view what;
};
constexpr std::array kForeign{
    Foreign{"Performance counter stats for", "the text of perf stat: it has counts, no functions"},
    Foreign{"# Event '", "the text of perf diff; give perfvigil diff the two files it was made from"},
    Foreign{"# Baseline", "the text of perf diff; give perfvigil diff the two files it was made from"},
    Foreign{"heap profile:", "a heap profile of gperftools in its old text form; pprof -proto makes one that is read"},
    Foreign{"--- heapz", "a heap profile of pprof in its old text form; pprof -proto makes one that is read"},
    Foreign{"--- contention",
            "a contention profile of pprof in its old text form; pprof -proto makes one that is read"},
    Foreign{"--- threadz", "a list of threads in pprof's old text form: it has no samples"},
    Foreign{"goroutine profile:", "a list of goroutines in pprof's text form: it has no samples"},
    Foreign{"<?xml", "XML"},
    Foreign{"<svg", "an SVG picture"},
    Foreign{"<!DOCTYPE", "an HTML page"},
    Foreign{"{", "JSON; perf.data, folded stacks or pprof of the same recording are read"},
    Foreign{"[{", "JSON; perf.data, folded stacks or pprof of the same recording are read"},
    Foreign{"\x7f"
            "ELF",
            "a program or library (ELF), no recording of one"},
    Foreign{"digraph", "a graph for Graphviz"},
    Foreign{"File:", "text of pprof -top; pprof -proto makes a profile that is read"},
};

bool is_report_line(std::string_view line) {
    if (!line.starts_with("#")) return false;
    const auto text = trim(line.substr(1));
    return (text.starts_with("Samples: ") && text.find(" of event") != std::string_view::npos) ||
           text.starts_with("Events: ") || text.starts_with("Event count (approx.):") || text.starts_with("Overhead") ||
           text.starts_with("Children ") || text.starts_with("Total Lost Samples:");
}

}  // namespace

std::optional<InputFormat> recognize_binary(Bytes start) {
    const auto text = text_of(start);
    for (const auto magic : kCaptureMagics) {
        if (text.starts_with(magic)) return InputFormat::kCapture;
    }
    if (text.starts_with(kZstdMagic)) return InputFormat::kProfile;
    if (looks_like_cpu_profile(start)) return InputFormat::kCpuProfile;
    if (has_controls(start) && looks_like_pprof(start)) return InputFormat::kPprof;
    return std::nullopt;
}

Result<InputFormat> recognize_text(Bytes start) {
    MemorySource source(start);
    TextLines lines(source);
    std::size_t folded = 0;
    std::size_t other = 0;
    std::string first_other;
    bool separated = false;
    std::string_view line;
    while (lines.next(line)) {
        if (lines.number() <= 3) {
            for (const auto& [begins, what] : kForeign) {
                if (trim(line).starts_with(begins)) return fail(ErrorCode::kUnsupported, fmt::format("it is {}", what));
            }
        }
        if (is_report_line(line)) return InputFormat::kReport;
        if (is_folded_comment(line)) continue;
        const auto stack = parse_folded_line(line).stack;
        // A header's text may end in a number, so a semicolon within it tells nothing.
        const auto header = parse_script_header(line);
        if (header && (header->time || stack.empty())) return InputFormat::kScript;
        if (!stack.empty()) {
            ++folded;
            separated |= stack.find(';') != std::string_view::npos;
        } else {
            ++other;
            if (first_other.empty()) first_other = fmt::format("line {} is {}", lines.number(), quoted_line(line));
        }
    }
    // Without a semicolon anywhere every line must be a name and its count.
    if (folded != 0 && (separated ? folded >= other : other == 0)) return InputFormat::kFolded;
    if (lines.number() == 0) return fail(ErrorCode::kInvalid, "it is empty");
    return fail(
        ErrorCode::kInvalid,
        fmt::format("neither a recording nor a text that perfvigil knows{}{}; --input-format says what it is ({})",
                    first_other.empty() ? "" : ": ", first_other, input_format_names()));
}

}  // namespace perfvigil::analyzer
