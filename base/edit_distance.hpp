// SPDX-License-Identifier: GPL-2.0-or-later
// How far apart two short names are, to guess what somebody meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace perfvigil {

// Edits (insert, delete, replace, swap neighbours) that turn `a` into `b`. Takes |a| · |b| steps and as much memory:
// the caller bounds both.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace perfvigil
