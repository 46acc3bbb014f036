// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/demangled_names.hpp"

#include <span>
#include <string>
#include <string_view>

#include "analyzer/symbols/child/demangle.hpp"
#include "analyzer/symbols/child/question.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {

Result<void> answer_demangled(int table, std::uint64_t max_bytes) {
    const auto question = read_question(table, 0, max_bytes);
    if (!question) return fail(question.error());
    std::string_view names(reinterpret_cast<const char*>(question->data()), question->size());
    std::string shown;
    while (!names.empty()) {
        auto name = next_piece(names, '\0');
        const bool stub = name.ends_with(kStubSuffix);
        if (stub) name.remove_suffix(kStubSuffix.size());
        append_name(name, NameForm::kShown, shown);
        if (stub) shown += kStubSuffix;
        shown += '\0';
        if (shown.size() > max_bytes) return fail(ErrorCode::kExhausted, "demangled names over their limit");
    }
    return write_all(table, std::as_bytes(std::span(shown)));
}

}  // namespace perfvigil::analyzer
