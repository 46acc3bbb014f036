// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/source_line_names.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr const char* kNoLine = "(no line)";

}  // namespace

void name_source_lines(Profile& profile, const std::vector<std::vector<InlinedFrame>>& frames) {
    for (auto& context : profile.contexts) {
        const auto position = parse_number<std::size_t>(context.source_line);
        context.source_line = kNoLine;
        if (!position || *position >= frames.size() || frames[*position].empty()) continue;
        const InlinedFrame& innermost = frames[*position].front();
        if (innermost.file.empty() || innermost.line == 0) continue;
        context.source_line = fmt::format("{}:{}", base_name(innermost.file), innermost.line);
    }
}

}  // namespace perfvigil::analyzer
