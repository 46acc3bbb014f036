// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/kallsyms_copy.hpp"

#include <string_view>

#include "analyzer/symbols/kernel_symbols.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/kallsyms.hpp"

namespace perfvigil::analyzer {

Result<std::string> copy_kallsyms(KallsymsForm form, const std::string& path) {
    const auto text = read_file(path, 1U << 30);
    if (!text) {
        const auto why = explain_hidden_kernel(&text.error());
        return fail(text.error().code, why.detail + ' ' + why.remedy);
    }
    std::string copy;
    copy.reserve(text->size());
    bool any_address = false;
    std::string_view lines = *text;
    while (!lines.empty()) {
        const auto line = next_piece(lines, '\n');
        const auto parsed = collector::parse_kallsyms_line(line);
        if (!parsed) continue;
        any_address = any_address || parsed->address != 0;
        if (form == KallsymsForm::kStripped && !parsed->module.empty()) continue;
        copy += line;
        copy += '\n';
    }
    if (any_address) return copy;
    if (copy.empty()) return fail(ErrorCode::kInvalid, path + ": holds no kernel symbols");
    const auto why = explain_hidden_kernel();
    return fail(ErrorCode::kPermission, why.detail + ' ' + why.remedy);
}

}  // namespace perfvigil::analyzer
