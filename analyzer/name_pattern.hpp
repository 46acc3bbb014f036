// SPDX-License-Identifier: GPL-2.0-or-later
// Patterns that names are selected by: a name as it stands, or a glob (fnmatch(3): *, ?, [a-z]). Knows no profile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfvigil::analyzer {

// Whether `name` is what `pattern` says. Every pattern matches the name that is spelled like it, so
// "[kernel.kallsyms]" and "operator[]" need no quoting.
[[nodiscard]] bool matches(const std::string& pattern, const std::string& name);

// The pieces of a list, added to `patterns`. A comma inside brackets belongs to the name: "std::map<int, int>::find".
void add_patterns(std::vector<std::string>& patterns, std::string_view list);

// "--option a,b" as a shell would take it back.
[[nodiscard]] std::string option_text(std::string_view option, const std::vector<std::string>& patterns);

struct KnownName {
    std::string_view name;
    std::uint64_t samples = 0;
};
// At most `most` of `known` (each name once) that somebody who wrote `pattern` may have meant, likeliest first; where
// none is alike, those with the most samples.
[[nodiscard]] std::vector<std::string_view> near_names(std::string_view pattern, const std::vector<KnownName>& known,
                                                       std::size_t most);

}  // namespace perfvigil::analyzer
