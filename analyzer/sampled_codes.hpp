// SPDX-License-Identifier: GPL-2.0-or-later
// The instructions that were sampled, each once, numbered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "collector/processes.hpp"

namespace perfvigil::analyzer {

struct SampledCode {
    collector::DsoRef dso;
    std::uint64_t offset = 0;  // in the Dso's terms
};

// Whether kernel modules are asked for their debug information too.
enum class DebugScope : std::uint8_t { kNotModules, kEverything };

class SampledCodes {
public:
    [[nodiscard]] std::size_t number_of(const collector::DsoRef& dso, std::uint64_t offset) {
        const auto [at, added] = numbers_.try_emplace({dso->id.value, offset}, codes_.size());
        if (added) codes_.push_back({.dso = dso, .offset = offset});
        return at->second;
    }
    // By number; starts anew.
    [[nodiscard]] std::vector<SampledCode> take() {
        numbers_.clear();
        return std::exchange(codes_, {});
    }

private:
    std::vector<SampledCode> codes_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> numbers_;
};

}  // namespace perfvigil::analyzer
