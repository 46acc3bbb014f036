// SPDX-License-Identifier: GPL-2.0-or-later
// The question at the head of the memfd of a request about a kernel module (module_question.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/symbols/module_question.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

struct PlacedSections {
    std::vector<PlacedSection> sections;
    std::uint64_t size = 0;  // of that part of the question
};

// kInvalid: the question is not of that form.
[[nodiscard]] Result<PlacedSections> read_placed_sections(int question);

}  // namespace perfvigil::analyzer
