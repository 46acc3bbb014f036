// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/function_place.hpp"

#include "base/text.hpp"

namespace perfvigil::analyzer {

void add_place(boost::json::object& object, const ProfileFunction& function) {
    if (function.inlined) object["inlined"] = true;
    if (function.line == 0) return;
    object["file"] = escape(function.file);
    object["line"] = function.line;
}

}  // namespace perfvigil::analyzer
