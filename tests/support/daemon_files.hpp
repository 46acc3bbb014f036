// SPDX-License-Identifier: GPL-2.0-or-later
// Whole files read and written without ceremony.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace perfvigil::test {

inline std::string slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
inline void spill(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

}  // namespace perfvigil::test
