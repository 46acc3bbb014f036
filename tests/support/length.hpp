// SPDX-License-Identifier: GPL-2.0-or-later
// How long measurements on the real host take: short in CI, as long as the specification asks with ./dev test --long.
#pragma once

#include <cstdlib>

namespace perfvigil::test {

[[nodiscard]] inline bool long_run() { return std::getenv("PERFVIGIL_LONG") != nullptr; }

template <class T>
[[nodiscard]] T by_length(T normal, T when_long) {
    return long_run() ? when_long : normal;
}

}  // namespace perfvigil::test
