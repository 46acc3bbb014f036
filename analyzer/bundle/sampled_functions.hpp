// SPDX-License-Identifier: GPL-2.0-or-later
// Which functions were sampled most, of all events together: those whose machine code a bundle keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/address_counts.hpp"
#include "analyzer/slice.hpp"
#include "analyzer/symbols/symbolizer.hpp"

namespace perfvigil::analyzer {

class SampledFunctions {
public:
    explicit SampledFunctions(Symbolizer& symbolizer) : symbolizer_(symbolizer) {}

    void add(const Slice& slice);

    // Most samples first; without their addresses.
    [[nodiscard]] std::vector<CountedFunction> take();

private:
    using Key = std::pair<std::uint32_t, std::uint64_t>;  // Dso, start
    [[nodiscard]] CountedFunction* function_of(const Frame& frame, const Slice& slice);

    Symbolizer& symbolizer_;
    std::map<Key, CountedFunction> functions_;
};

}  // namespace perfvigil::analyzer
