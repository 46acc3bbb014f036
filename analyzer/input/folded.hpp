// SPDX-License-Identifier: GPL-2.0-or-later
// Folded stacks into a Profile: "outermost;…;innermost 12" per line, as the collapsing scripts of flame graphs write
// them. Whether the first piece is a thread's name is told from the whole file (kernel and JIT marks, pids): nothing in
// a line says so.
#pragma once

#include "analyzer/input/text_lines.hpp"
#include "analyzer/profile.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

// A line of one stack and its count; an empty stack where it is none.
struct FoldedLine {
    std::string_view stack;
    std::uint64_t count = 0;
    bool two_counts = false;  // of two profiles, side by side: a diff
};
[[nodiscard]] FoldedLine parse_folded_line(std::string_view line);
// Not a stack, but nobody's fault: empty, or a comment.
[[nodiscard]] bool is_folded_comment(std::string_view line);

[[nodiscard]] Result<Profile> read_folded(TextLines& lines);

}  // namespace perfvigil::analyzer
