// SPDX-License-Identifier: GPL-2.0-or-later
// Names without the folders of this host: who may read a profile need not learn whose home a program lies in.
#pragma once

#include <string>
#include <string_view>

namespace perfvigil::analyzer {

// A Dso's path without its folders; names that are no path ("[vdso]", "//anon") stay.
[[nodiscard]] std::string_view redacted_dso(std::string_view dso);

// A function's name without the folders of files in it, as run times and compilers write them: "JS:*f /srv/u/a.js:3".
// From the first slash that begins a path to the last slash of all goes, for a folder may have blanks in its name. A
// slash within a word ("operator/", "example.com/x.Run", "java/lang/Object") begins none.
[[nodiscard]] std::string redacted_name(std::string_view name);

}  // namespace perfvigil::analyzer
