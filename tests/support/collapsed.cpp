// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/collapsed.hpp"

#include <algorithm>
#include <ranges>

#include "analyzer/function_name.hpp"
#include "base/text.hpp"

namespace perfvigil::test {
namespace {

using namespace analyzer;

// Their rules, in the order they apply: unknown functions are called by their binary, semicolons cannot stand in a
// name, arguments and quotes are noise; Go's receivers are none.
std::string tidy(const ProfileFunction& function, std::string_view comm) {
    std::string name = function.name;
    if (name == "[unknown]" && function.dso != "[unknown]") name = "[" + std::string(base_name(function.dso)) + "]";
    std::ranges::replace(name, ';', ':');
    const auto receiver = name.find(".(");
    const bool go = receiver != std::string::npos && name.find(").", receiver) != std::string::npos;
    constexpr std::string_view kAnonymous = "(anonymous namespace)";
    for (auto open = name.find('('); open != std::string::npos && !go; open = name.find('(', open + 1)) {
        if (name.compare(open, kAnonymous.size(), kAnonymous) == 0) continue;
        name.erase(open);
        break;
    }
    std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
    // Class names of the Java runtime.
    if (comm == "java" && name.starts_with('L') && name.find('/') != std::string::npos) name.erase(0, 1);
    return name;
}

bool marked_as_kernel(const ProfileFunction& function) {
    return (function.dso.starts_with('[') || function.dso.ends_with("vmlinux")) &&
           function.dso.find("unknown") == std::string::npos;
}

std::string name_of(const ProfileFunction& function, std::string_view comm, CollapseMarks marks) {
    std::string name = tidy(function, comm);
    if (marks.kernel && marked_as_kernel(function)) name += "_[k]";
    if (marks.jit && function.dso.starts_with("/tmp/perf-") && function.dso.ends_with(".map")) name += "_[j]";
    return name;
}

}  // namespace

Folds collapsed(const Profile& profile, std::uint32_t event, CollapseMarks marks) {
    Folds folds;
    for (const auto& sample : profile.samples) {
        if (sample.event != event) continue;
        const std::string& comm = profile.contexts[sample.context].comm;
        std::string key = comm;
        std::ranges::replace(key, ' ', '_');
        for (const auto function : profile.stacks[sample.stack].functions | std::views::reverse) {
            key += ';' + std::string(trim(name_of(profile.functions[function], comm, marks)));
        }
        folds[key] += sample.weight;
    }
    return folds;
}

Folds grouped(const Folds& folds) {
    Folds result;
    for (const auto& [stack, weight] : folds) {
        std::string key;
        for (const std::string_view frame : split(stack, ';')) {
            const auto mark = frame.ends_with("_[k]") ? frame.size() - 4 : frame.size();
            if (!key.empty()) key += ';';
            key += std::string(function_group(frame.substr(0, mark))) + std::string(frame.substr(mark));
        }
        result[key] += weight;
    }
    return result;
}

Folds parse_collapsed(std::string_view text) {
    Folds folds;
    while (!text.empty()) {
        std::string_view line = next_piece(text, '\n');
        if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
        const auto blank = line.rfind(' ');
        if (blank == std::string_view::npos) continue;
        const auto count = parse_number<std::uint64_t>(trim(line.substr(blank + 1)));
        if (count) folds[std::string(trim(line.substr(0, blank)))] += *count;
    }
    return folds;
}

}  // namespace perfvigil::test
