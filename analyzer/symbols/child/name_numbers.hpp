// SPDX-License-Identifier: GPL-2.0-or-later
// Strings of an answer, each once, numbered in the order in which they came.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace perfvigil::analyzer {

class NameNumbers {
public:
    [[nodiscard]] std::uint32_t number_of(std::string name) {
        const auto [at, added] = numbers_.emplace(std::move(name), static_cast<std::uint32_t>(names_.size()));
        if (added) names_.push_back(at->first);
        return at->second;
    }
    [[nodiscard]] std::vector<std::string> take() { return std::move(names_); }

private:
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace perfvigil::analyzer
