// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/fault.hpp"

#include "base/text.hpp"

namespace perfvigil::config {

std::string to_text(const Fault& fault, std::string_view file) {
    std::string text(file);
    if (fault.line > 0) text += ":" + std::to_string(fault.line);
    if (!fault.key.empty()) text += ": " + escape(fault.key);
    text += ": " + fault.why;
    if (!fault.suggestion.empty()) text += ", " + fault.suggestion;
    return text;
}

}  // namespace perfvigil::config
