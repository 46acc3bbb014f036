// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/redaction.hpp"

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

bool is_of_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}
// "operator/ (X, Y)" and "operator/=" in a scope: what follows is no file.
bool begins_path(std::string_view rest) { return rest.size() > 1 && (is_of_word(rest[1]) || rest[1] == '/'); }

}  // namespace

std::string_view redacted_dso(std::string_view dso) { return dso.starts_with("//") ? dso : base_name(dso); }

std::string redacted_name(std::string_view name) {
    std::string made(name);
    for (std::size_t at = name.find('/'); at != std::string_view::npos; at = name.find('/', at + 1)) {
        if ((at > 0 && is_of_word(name[at - 1])) || !begins_path(name.substr(at))) continue;
        made.erase(at, name.rfind('/') - at + 1);
        break;
    }
    return made;
}

}  // namespace perfvigil::analyzer
