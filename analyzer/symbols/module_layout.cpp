// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/module_layout.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "analyzer/symbols/elf_head.hpp"
#include "analyzer/symbols/regular_file.hpp"
#include "base/fd.hpp"
#include "base/section_names.hpp"
#include "base/text.hpp"
#include "collector/host_settings.hpp"

namespace perfvigil::analyzer {
namespace {

using collector::ModuleTextSections;

std::optional<std::size_t> sections_of_file(SymbolChild& child, const std::string& path) {
    auto file = open_regular_at(path, RemoteFiles::kRefuse);
    if (!file) return std::nullopt;
    int fd = (*file)->fd.get();
    UniqueFd inflated;
    if (!read_elf_head(fd)) {
        auto whole = child.inflate(fd);
        if (!whole) return std::nullopt;
        inflated = std::move(*whole);
        fd = inflated.get();
    }
    const auto symbols = child.read_module(fd, {});
    if (!symbols || symbols->state() == FileState::kNotElf || symbols->state() == FileState::kDamaged) {
        return std::nullopt;
    }
    return symbols->split_sections();
}

// Of the .ko files that modules.dep lists, evenly picked.
std::vector<ModuleTextSections> of_files(SymbolChild& child, const std::string& folder) {
    std::vector<ModuleTextSections> found;
    const auto index = read_file(folder + "modules.dep");
    if (!index) return found;
    std::vector<std::string_view> paths;
    std::string_view lines = *index;
    while (!lines.empty()) {
        std::string_view line = next_piece(lines, '\n');
        if (const auto path = next_piece(line, ':'); !path.empty()) paths.push_back(path);
    }
    const std::size_t step = std::max<std::size_t>(paths.size() / kLayoutFiles, 1);
    for (std::size_t i = 0; i < paths.size() && found.size() < kLayoutFiles; i += step) {
        const auto sections = sections_of_file(child, folder + std::string(paths[i]));
        if (sections) found.push_back({.name = std::string(base_name(paths[i])), .sections = *sections});
    }
    return found;
}

std::string listed(const std::vector<std::pair<std::string, std::size_t>>& split) {
    constexpr std::size_t kNamed = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(split.size(), kNamed); ++i) {
        text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", escape(split[i].first), split[i].second);
    }
    if (split.size() > kNamed) text += fmt::format(" and {} more", split.size() - kNamed);
    return text;
}

}  // namespace

ModuleLayoutVerdict judge_module_layout(SymbolChild& child, const std::string& release, const std::string& root) {
    ModuleLayoutVerdict verdict;
    auto looked_at = collector::read_module_text_sections(root);
    std::string what = fmt::format("loaded modules (/sys/module/*/sections)");
    if (looked_at.empty()) {
        const auto folder = root + "/lib/modules/" + release + "/";
        looked_at = of_files(child, folder);
        what = fmt::format("module files looked at below {}", escape(folder));
    }
    verdict.modules = looked_at.size();
    for (auto& module : looked_at) {
        if (module.sections > kOrdinaryTextSections) verdict.split.emplace_back(module.name, module.sections);
    }
    std::ranges::sort(verdict.split, [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    if (looked_at.empty()) {
        verdict.evidence = fmt::format(
            "No module is loaded, and none could be read below /lib/modules/{}: how modules are laid out is not known.",
            escape(release));
        return verdict;
    }
    verdict.layout = verdict.split.empty() ? ModuleLayout::kWhole : ModuleLayout::kSplit;
    verdict.form = verdict.split.empty() ? KallsymsForm::kStripped : KallsymsForm::kFull;
    verdict.evidence = verdict.split.empty()
                           ? fmt::format("None of {} {} has more than {} text sections of single functions.",
                                         looked_at.size(), what, kOrdinaryTextSections)
                           : fmt::format("{} of {} {} have their functions in text sections of their own: {}.",
                                         verdict.split.size(), looked_at.size(), what, listed(verdict.split));
    return verdict;
}

}  // namespace perfvigil::analyzer
