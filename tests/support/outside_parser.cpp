// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/outside_parser.hpp"

#include <array>
#include <utility>

#include "tests/support/report_view.hpp"

namespace perfvigil::test {
namespace {

constexpr const char* kReadAll = R"py(
import pathlib, sys
from xml.parsers import expat
files = sorted(p for p in pathlib.Path(sys.argv[1]).iterdir() if p.name.endswith(sys.argv[2]))
print(len(files))
for path in files:
    try:
        expat.ParserCreate().Parse(path.read_bytes(), True)
    except expat.ExpatError as error:
        print(f"{path}: {error}")
)py";

}  // namespace

std::string xml_verdict(const std::string& folder, const std::string& ending) {
    return output_of("/usr/bin/python3", {"-c", kReadAll, folder, ending});
}

std::string without_entities(std::string text) {
    // The ampersand last: what it stands before is text.
    constexpr std::array<std::pair<const char*, char>, 5> kEntities{
        {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}, {"&amp;", '&'}}};
    for (const auto& [entity, character] : kEntities) {
        const std::string word = entity;
        for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
            text.replace(at, word.size(), 1, character);
        }
    }
    return text;
}

}  // namespace perfvigil::test
