// SPDX-License-Identifier: GPL-2.0-or-later
// The strings of a protobuf message that refers to them by number: each once, "" first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/text.hpp"

namespace perfvigil::analyzer {

class StringTable {
public:
    StringTable() { (void)exact(""); }

    // Foreign text is made safe: protobuf's strings are UTF-8.
    [[nodiscard]] std::uint32_t number(std::string_view foreign) { return exact(escape(foreign)); }
    [[nodiscard]] const std::vector<std::string>& strings() const { return strings_; }

private:
    std::uint32_t exact(std::string text) {
        const auto [at, added] = numbers_.emplace(std::move(text), static_cast<std::uint32_t>(strings_.size()));
        if (added) strings_.push_back(at->first);
        return at->second;
    }

    boost::unordered_flat_map<std::string, std::uint32_t> numbers_;
    std::vector<std::string> strings_;
};

}  // namespace perfvigil::analyzer
