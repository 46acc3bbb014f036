// SPDX-License-Identifier: GPL-2.0-or-later
// Programs of other projects that judge what ours write.
#pragma once

#include <optional>
#include <string>

namespace perfvigil::test {

// `go tool pprof` as one program: of an installed Go, else what ./dev deps unpacked; PERFVIGIL_PPROF wins.
[[nodiscard]] std::optional<std::string> find_pprof();

// Folded stacks of `perf script` output, by a script of the tests (tests/support/collapse.pl).
[[nodiscard]] std::string collapse_script();

}  // namespace perfvigil::test
