// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/name_pattern.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <tuple>

#include "base/edit_distance.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// "[kernel.kallsyms]" is a name, not one of its letters.
bool is_glob(std::string_view pattern) {
    if (pattern.find_first_of("*?") != std::string_view::npos) return true;
    return pattern.find('[') != std::string_view::npos && !(pattern.front() == '[' && pattern.back() == ']');
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

}  // namespace

bool matches(const std::string& pattern, const std::string& name) {
    if (name == pattern) return true;
    return is_glob(pattern) && ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

void add_patterns(std::vector<std::string>& patterns, std::string_view list) {
    constexpr std::string_view kOpening = "([{<";
    constexpr std::string_view kClosing = ")]}>";
    std::size_t depth = 0;
    std::size_t start = 0;
    const auto add = [&](std::size_t end) {
        const auto piece = trim(list.substr(start, end - start));
        if (!piece.empty()) patterns.emplace_back(piece);
        start = end + 1;
    };
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (kOpening.find(list[i]) != std::string_view::npos) ++depth;
        if (kClosing.find(list[i]) != std::string_view::npos && depth > 0) --depth;
        if (list[i] == ',' && depth == 0) add(i);
    }
    add(list.size());
}

std::string option_text(std::string_view option, const std::vector<std::string>& patterns) {
    std::string list;
    for (const auto& pattern : patterns) list += (list.empty() ? "" : ",") + pattern;
    const bool plain = std::ranges::all_of(list, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("_-./:=@%+,").find(static_cast<char>(c)) != std::string_view::npos;
    });
    std::string text = std::string(option) + " ";
    if (plain && !list.empty()) return text + list;
    text += '\'';
    for (const char c : list) text += c == '\'' ? "'\\''" : std::string(1, c);
    return text + "'";
}

std::vector<std::string_view> near_names(std::string_view pattern, const std::vector<KnownName>& known,
                                         std::size_t most) {
    constexpr std::size_t kLongest = 64;  // names longer than this are not compared letter by letter
    enum Likeness : std::uint8_t { kContained, kMisspelled, kUnlike };
    struct Candidate {
        KnownName name;
        Likeness likeness = kUnlike;
        std::size_t edits = 0;
    };
    auto wanted = lower(pattern);
    std::erase_if(wanted, [](char c) { return c == '*' || c == '?'; });
    const std::size_t limit = std::max<std::size_t>(2, wanted.size() / 3);
    std::vector<Candidate> candidates;
    for (const auto& one : known) {
        Candidate candidate{.name = one};
        const auto name = lower(one.name);
        const auto difference = std::max(name.size(), wanted.size()) - std::min(name.size(), wanted.size());
        if (!wanted.empty() && name.find(wanted) != std::string::npos) {
            candidate.likeness = kContained;
        } else if (name.size() <= kLongest && wanted.size() <= kLongest && difference <= limit) {
            candidate.edits = edit_distance(wanted, name);
            if (candidate.edits <= limit && candidate.edits < name.size()) candidate.likeness = kMisspelled;
        }
        if (candidate.likeness != kMisspelled) candidate.edits = 0;
        candidates.push_back(candidate);
    }
    std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
        return std::tuple(a.likeness, a.edits, b.name.samples, a.name.name) <
               std::tuple(b.likeness, b.edits, a.name.samples, b.name.name);
    });
    std::vector<std::string_view> near;
    for (const auto& candidate : candidates) {
        if (near.size() == most || (candidate.likeness == kUnlike && candidates.front().likeness != kUnlike)) break;
        near.push_back(candidate.name.name);
    }
    return near;
}

}  // namespace perfvigil::analyzer
