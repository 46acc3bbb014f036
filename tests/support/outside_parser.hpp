// SPDX-License-Identifier: GPL-2.0-or-later
// Files judged by parsers that are not ours: python3's expat and json.
#pragma once

#include <string>

namespace perfvigil::test {

// The first line says how many files of `folder` with that ending were read; every other names one that is not
// well-formed, and where.
[[nodiscard]] std::string xml_verdict(const std::string& folder, const std::string& ending);
// The text as it was meant: every character that must not stand in XML plainly is out of its entity.
[[nodiscard]] std::string without_entities(std::string text);

}  // namespace perfvigil::test
