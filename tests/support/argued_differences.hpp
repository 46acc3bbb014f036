// SPDX-License-Identifier: GPL-2.0-or-later
// A checked-in list of differences between an expectation that others made and what we find, each with its argument:
// "<difference> | <why it is right>" per line. What differs and is not listed fails, and so does what is listed and
// does not occur.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil::test {

class ArguedDifferences {
public:
    // `name`: below tests/golden.
    explicit ArguedDifferences(std::string name) : name_(std::move(name)) {
        const auto text = read_file(std::string(test::kGoldenDir) + '/' + name_);
        std::string_view rest = text ? std::string_view(*text) : std::string_view{};
        while (!rest.empty()) {
            const std::string_view line = next_piece(rest, '\n');
            if (line.empty() || line.front() == '#') continue;
            const auto bar = line.find(" | ");
            const bool complete = bar != std::string_view::npos && bar + 3 < line.size();
            EXPECT_TRUE(complete) << "no argument in: " << line;
            if (complete) left_.emplace(line.substr(0, bar), line.substr(bar + 3));
        }
    }

    void found(const std::string& difference) {
        if (left_.erase(difference) == 0) ADD_FAILURE() << difference;
    }
    void expect_all_found() const {
        for (const auto& [line, why] : left_) ADD_FAILURE() << "argued in " << name_ << " but not found: " << line;
    }

private:
    std::string name_;
    std::map<std::string, std::string> left_;
};

}  // namespace perfvigil::test
