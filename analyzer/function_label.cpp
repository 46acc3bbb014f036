// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/function_label.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {

std::string function_label(const ProfileFunction& function) {
    std::string label = function.name;
    if (function.line != 0) label += fmt::format(" {}:{}", base_name(function.file), function.line);
    if (function.inlined) label += " (inlined)";
    return label;
}

}  // namespace perfvigil::analyzer
