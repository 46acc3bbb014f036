// SPDX-License-Identifier: GPL-2.0-or-later
// The corpus of foreign captures and texts: not part of this repository. PERFVIGIL_CORPUS in the environment names its
// folder, else the build's macro of that name does.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

namespace perfvigil::test {

[[nodiscard]] std::string corpus_folder();
// False where it is absent; tests then skip with corpus_absent().
[[nodiscard]] bool has_corpus();
[[nodiscard]] std::string corpus_absent();

[[nodiscard]] boost::json::value corpus_manifest();
[[nodiscard]] std::vector<std::byte> corpus_bytes(const std::string& path);  // relative to the folder

}  // namespace perfvigil::test
