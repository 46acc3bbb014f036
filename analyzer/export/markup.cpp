// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/markup.hpp"

#include "base/bytes.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// U+202A..U+202E and U+2066..U+2069 change the direction of what follows; U+FFFE and U+FFFF are no characters in XML.
bool is_unwanted(std::string_view three) {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(three[i]); };
    if (at(0) == 0xe2 && at(1) == 0x80) return at(2) >= 0xaa && at(2) <= 0xae;
    if (at(0) == 0xe2 && at(1) == 0x81) return at(2) >= 0xa6 && at(2) <= 0xa9;
    return at(0) == 0xef && at(1) == 0xbf && at(2) >= 0xbe;
}

}  // namespace

std::string markup_of_escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size() + text.size() / 8);
    for (std::size_t i = 0; i < text.size(); ++i) {
        switch (text[i]) {
            case '&': out += "&amp;"; continue;
            case '<': out += "&lt;"; continue;
            case '>': out += "&gt;"; continue;
            case '"': out += "&quot;"; continue;
            case '\'': out += "&#39;"; continue;
            default: break;
        }
        if (i + 3 > text.size() || !is_unwanted(text.substr(i, 3))) {
            out += text[i];
            continue;
        }
        for (const char c : text.substr(i, 3)) {
            const auto byte = static_cast<std::byte>(c);
            out += "\\x" + to_hex(Bytes(&byte, 1));
        }
        i += 2;
    }
    return out;
}

std::string markup(std::string_view foreign) {
    std::string out;
    while (true) {
        const auto end = foreign.find('\n');
        out += markup_of_escaped(escape(foreign.substr(0, end)));
        if (end == std::string_view::npos) return out;
        out += '\n';
        foreign.remove_prefix(end + 1);
    }
}

}  // namespace perfvigil::analyzer
