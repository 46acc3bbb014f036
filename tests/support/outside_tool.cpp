// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/outside_tool.hpp"
#include "tests/support/paths.hpp"

#include <glob.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace perfvigil::test {

std::optional<std::string> find_pprof() {
    std::vector<std::string> places;
    if (const char* given = std::getenv("PERFVIGIL_PPROF")) places.emplace_back(given);
    for (const char* pattern : {"/usr/lib/go*/pkg/tool/*/pprof", "/usr/local/go/pkg/tool/*/pprof"}) {
        glob_t found{};
        if (::glob(pattern, 0, nullptr, &found) == 0) {
            for (std::size_t i = 0; i < found.gl_pathc; ++i) places.emplace_back(found.gl_pathv[i]);
        }
        ::globfree(&found);
    }
    if (const char* home = std::getenv("HOME")) places.push_back(std::string(home) + "/.cache/perfvigil/bin/pprof");
    for (const auto& place : places) {
        if (::access(place.c_str(), X_OK) == 0) return place;
    }
    return std::nullopt;
}

std::string collapse_script() { return std::string(test::kSourceDir) + "/tests/support/collapse.pl"; }

}  // namespace perfvigil::test
