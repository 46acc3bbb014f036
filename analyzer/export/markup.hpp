// SPDX-License-Identifier: GPL-2.0-or-later
// Foreign text inside XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace perfvigil::analyzer {

// For an element's content or a quoted attribute. Made safe for people first, as escape() does. Line feeds stay.
[[nodiscard]] std::string markup(std::string_view foreign);
// The same of what escape() has made safe already. Characters that turn the direction of writing and those that XML 1.0
// has no place for become \xNN.
[[nodiscard]] std::string markup_of_escaped(std::string_view text);

}  // namespace perfvigil::analyzer
