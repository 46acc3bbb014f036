// SPDX-License-Identifier: GPL-2.0-or-later
// Lines of a text that could not be read: counted, the first few kept for the sentence that says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfvigil::analyzer {

class LineFaults {
public:
    void add(std::uint64_t line, std::string_view text);
    [[nodiscard]] std::uint64_t count() const { return count_; }
    // "3 lines could not be read: line 17: "…"; line 20: "…"; …"; empty where there are none.
    [[nodiscard]] std::string sentence() const;
    [[nodiscard]] std::string first() const;  // "line 17: "…"", empty where there is none

private:
    std::uint64_t count_ = 0;
    std::vector<std::string> shown_;
};

// A piece of foreign text for a sentence: short, on one line.
[[nodiscard]] std::string quoted_line(std::string_view text);

}  // namespace perfvigil::analyzer
