// SPDX-License-Identifier: GPL-2.0-or-later
// Under which name a function is counted. Compilers make copies and parts of a function and append to its name what
// they did (".isra.0", ".constprop.0", ".part.3", ".cold", ".llvm.123", " [clone .cold]"); Rust's legacy names end in a
// hash of the build ("::h0123456789abcdef"). All of them are the function that somebody wrote: one name for profiles,
// reports, metrics and comparisons alike. What was folded stays in ProfileFunction::variants.
//
// Not told apart: a Go function that is called cold ("main.cold") and the cold part of main.
#pragma once

#include <string_view>

namespace perfvigil::analyzer {

// The front part of the demangled name that is left; never empty for a name that is not.
[[nodiscard]] std::string_view function_group(std::string_view name);

// The same for a function of that Dso: names of code made at run time ("[jit]", perf maps) are whatever the run time
// calls it, and stay whole.
[[nodiscard]] std::string_view function_group(std::string_view name, std::string_view dso);

}  // namespace perfvigil::analyzer
