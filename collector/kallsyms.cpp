// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/kallsyms.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.hpp"

namespace perfvigil::collector {

std::optional<KallsymsLine> parse_kallsyms_line(std::string_view line) {
    KallsymsLine parsed;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), parsed.address, 16);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    // " t " and at least one character of a name
    if (error != std::errc{} || line.size() < 4 || line[0] != ' ' || line[1] == ' ' || line[2] != ' ')
        return std::nullopt;
    parsed.type = line[1];
    line.remove_prefix(3);
    parsed.name = next_piece(line, '\t');
    if (parsed.name.empty()) return std::nullopt;
    if (line.empty()) return parsed;
    if (line.size() < 3 || line.front() != '[' || line.back() != ']') return std::nullopt;
    parsed.module = line.substr(1, line.size() - 2);
    return parsed;
}

void KallsymsStream::feed(std::string_view piece) {
    while (!piece.empty()) {
        const auto end = piece.find('\n');
        if (end == std::string_view::npos) {
            if (partial_.size() + piece.size() > kMaxLine) skipping_ = true;
            if (skipping_)
                partial_.clear();
            else
                partial_ += piece;
            return;
        }
        if (skipping_)
            ++malformed_;
        else if (partial_.empty())
            take(piece.substr(0, end));
        else
            take(partial_.append(piece.substr(0, end)));
        skipping_ = false;
        partial_.clear();
        piece.remove_prefix(end + 1);
    }
}

void KallsymsStream::finish() {
    if (skipping_)
        ++malformed_;
    else if (!partial_.empty())
        take(partial_);
    skipping_ = false;
    partial_.clear();
}

void KallsymsStream::take(std::string_view line) {
    if (const auto parsed = parse_kallsyms_line(line))
        visit_(*parsed);
    else
        ++malformed_;
}

bool is_section_marker(std::string_view name) {
    if (!name.starts_with('_')) return false;
    constexpr std::array<std::string_view, 24> kMarkers{"_text",
                                                        "_stext",
                                                        "_etext",
                                                        "_end",
                                                        "__pi__text",
                                                        "__pi__etext",
                                                        "__pi__end",
                                                        "_sinittext",
                                                        "_einittext",
                                                        "__init_begin",
                                                        "__init_end",
                                                        "__inittext_begin",
                                                        "__inittext_end",
                                                        "__exittext_begin",
                                                        "__exittext_end",
                                                        "__indirect_thunk_start",
                                                        "__indirect_thunk_end",
                                                        "__nosave_begin",
                                                        "__nosave_end",
                                                        "__relocate_new_kernel_start",
                                                        "__relocate_new_kernel_end",
                                                        "__kexec_reloc_start",
                                                        "__end_once",
                                                        "_stext_lma"};
    if (std::ranges::find(kMarkers, name) != kMarkers.end()) return true;
    // An array of thunks, whose first member has a name of its own.
    if (name.starts_with("__x86_") && name.ends_with("_thunk_array")) return true;
    // __entry_text_start, __softirqentry_text_end, __cpuidle_text_start, __static_call_text_end …
    return name.starts_with("__") && (name.ends_with("_text_start") || name.ends_with("_text_end"));
}

}  // namespace perfvigil::collector
