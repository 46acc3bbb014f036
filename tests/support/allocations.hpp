// SPDX-License-Identifier: GPL-2.0-or-later
// Counts what the calling thread takes from operator new, for tests of "allocates nothing". A program that names
// these functions gets operator new and delete replaced by counting ones over malloc.
#pragma once

#include <cstddef>

namespace perfvigil::test {

// Calls of operator new by this thread so far.
[[nodiscard]] std::size_t allocation_count();

// Allocations of this thread while `work` runs.
template <class Work>
[[nodiscard]] std::size_t allocations_in(Work&& work) {
    const std::size_t before = allocation_count();
    work();
    return allocation_count() - before;
}

}  // namespace perfvigil::test
