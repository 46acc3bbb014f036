// SPDX-License-Identifier: GPL-2.0-or-later
// Texts in memory through the readers of analyzer/input.
#pragma once

#include <stdexcept>
#include <string_view>

#include "analyzer/input/byte_source.hpp"
#include "analyzer/input/text_lines.hpp"
#include "analyzer/profile.hpp"

namespace perfvigil::test {

template <class Read>
[[nodiscard]] Result<analyzer::Profile> try_text(std::string_view text, Read&& read) {
    analyzer::MemorySource source(text);
    analyzer::TextLines lines(source);
    return read(lines);
}

// Throws where the text cannot be read.
template <class Read>
[[nodiscard]] analyzer::Profile profile_of_text(std::string_view text, Read&& read) {
    auto profile = try_text(text, read);
    if (!profile) throw std::runtime_error(profile.error().message);
    return std::move(*profile);
}

}  // namespace perfvigil::test
