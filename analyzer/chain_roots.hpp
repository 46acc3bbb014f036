// SPDX-License-Identifier: GPL-2.0-or-later
// How many call chains can be trusted to be whole: those that reach a function which is known to stand at the outer
// end of a stack. Shares of callers say little where most chains end somewhere in between.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

struct ChainRoots {
    bool recorded = false;  // some stack has a caller
    std::uint64_t samples = 0;
    std::uint64_t rooted = 0;

    // False where there is nothing to judge.
    [[nodiscard]] bool mostly_unrooted() const { return recorded && rooted * 2 < samples; }
};

// Idle samples are not counted.
[[nodiscard]] ChainRoots chain_roots(const Profile& profile, std::uint32_t event);

// main, what calls it, and starts of threads; kernel entries and starts of kernel threads.
[[nodiscard]] bool is_user_root(std::string_view name);
[[nodiscard]] bool is_kernel_root(std::string_view name);
// A stripped C library has no name for what calls main and starts threads: a caller in it that nobody called, and that
// called code outside it.
[[nodiscard]] bool starts_in_nameless_library(const Profile& profile, const ProfileStack& stack);

}  // namespace perfvigil::analyzer
