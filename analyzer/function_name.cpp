// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/function_name.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr auto npos = std::string_view::npos;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

// Words that are followed by a number, and those that may stand alone.
bool is_numbered_word(std::string_view word) {
    static constexpr auto kWords =
        std::to_array<std::string_view>({"isra", "constprop", "part", "cold", "llvm", "lto_priv", "__uniq",
                                         "specialized", "localalias", "warm", "cfi", "cfi_jt"});
    return std::ranges::find(kWords, word) != kWords.end();
}
bool is_lone_word(std::string_view word) {
    static constexpr auto kWords = std::to_array<std::string_view>({"cold", "localalias", "cfi", "cfi_jt", "lto_priv"});
    return std::ranges::find(kWords, word) != kWords.end();
}

// ".cold", ".isra.0", ".llvm.1234": the length of such a suffix at the end of `name`, 0 where there is none.
std::size_t clone_suffix(std::string_view name) {
    const std::size_t last = name.rfind('.');
    if (last == npos) return 0;
    const std::string_view word = name.substr(last + 1);
    if (word.empty() || !std::ranges::all_of(word, is_digit)) return is_lone_word(word) ? name.size() - last : 0;
    const std::size_t dot = last == 0 ? npos : name.rfind('.', last - 1);
    if (dot == npos) return 0;
    return is_numbered_word(name.substr(dot + 1, last - dot - 1)) ? name.size() - dot : 0;
}

// " [clone .isra.0]" (binutils), " (.llvm.123)" (LLVM).
std::size_t demangled_clone_suffix(std::string_view name) {
    static constexpr std::array<std::pair<std::string_view, char>, 2> kForms{{{" [clone .", ']'}, {" (.", ')'}}};
    for (const auto& [opening, closing] : kForms) {
        if (!name.ends_with(closing)) continue;
        const std::size_t at = name.rfind(opening);
        if (at == npos) continue;
        const std::string_view suffix = name.substr(at + opening.size() - 1, name.size() - at - opening.size());
        if (closing == ']' || clone_suffix(suffix) == suffix.size()) return name.size() - at;
    }
    return 0;
}

std::size_t rust_hash_suffix(std::string_view name) {
    constexpr std::string_view kMark = "::h";
    constexpr std::size_t kDigits = 16;
    if (name.size() <= kMark.size() + kDigits) return 0;
    const std::string_view tail = name.substr(name.size() - kMark.size() - kDigits);
    const bool hash = tail.starts_with(kMark) && std::ranges::all_of(tail.substr(kMark.size()), is_lower_hex);
    return hash ? tail.size() : 0;
}

}  // namespace

std::string_view function_group(std::string_view name) {
    while (true) {
        std::size_t suffix = clone_suffix(name);
        if (suffix == 0) suffix = demangled_clone_suffix(name);
        if (suffix == 0) suffix = rust_hash_suffix(name);
        if (suffix == 0 || suffix >= name.size()) return name;
        name.remove_suffix(suffix);
    }
}

std::string_view function_group(std::string_view name, std::string_view dso) {
    const auto file = base_name(dso);
    const bool run_time = dso == "[jit]" || (file.starts_with("perf-") && file.ends_with(".map"));
    return run_time ? name : function_group(name);
}

}  // namespace perfvigil::analyzer
