// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/host_settings.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/fd.hpp"
#include "base/section_names.hpp"
#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostModules = 1024;
constexpr std::size_t kMostSections = 65536;  // of one module
constexpr std::size_t kMostNamed = 64;        // modules with split text

// "always [madvise] never" → "madvise".
std::string_view chosen(std::string_view choices) {
    const auto open = choices.find('[');
    const auto close = choices.find(']', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos || close == std::string_view::npos) return {};
    return choices.substr(open + 1, close - open - 1);
}

// Whether x86's cpuinfo has flags at all, and the hypervisor's among them.
std::string_view virtual_machine(std::string_view cpuinfo) {
    while (!cpuinfo.empty()) {
        std::string_view line = next_piece(cpuinfo, '\n');
        if (trim(next_piece(line, ':')) != "flags") continue;
        for (const std::string_view flag : split(trim(line), ' ')) {
            if (flag == "hypervisor") return "yes";
        }
        return "no";
    }
    return {};
}

std::size_t split_sections(const fs::path& sections) {
    std::error_code error;
    std::size_t seen = 0;
    std::size_t found = 0;
    for (fs::directory_iterator at(sections, error), end; !error && at != end; at.increment(error)) {
        if (++seen > kMostSections) break;
        if (is_section_of_one_function(at->path().filename().native())) ++found;
    }
    return found;
}

void add_module_sections(const std::string& root, HostSettings& settings) {
    const auto modules = read_module_text_sections(root);
    if (modules.empty()) return;
    settings.emplace_back("module_sections", "read");
    std::size_t named = 0;
    for (const auto& module : modules) {
        if (module.sections <= kOrdinaryTextSections || named == kMostNamed) continue;
        settings.emplace_back("split_text." + module.name, std::to_string(module.sections));
        ++named;
    }
}

}  // namespace

HostSettings read_host_settings(const std::string& root, std::string_view cpuinfo) {
    HostSettings settings;
    const auto first_line = [&](const char* path) {
        const auto text = read_file(root + path, 4096);
        return text ? std::string(trim(*text)) : std::string();
    };
    if (const auto active = first_line("/sys/devices/system/cpu/smt/active"); active == "0" || active == "1") {
        settings.emplace_back("smt", active == "1" ? "on" : "off");
    }
    const auto huge_pages = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
    if (const auto choice = chosen(huge_pages); !choice.empty()) settings.emplace_back("transparent_hugepage", choice);
    if (const auto machine = virtual_machine(cpuinfo); !machine.empty()) {
        settings.emplace_back("virtual_machine", machine);
    }
    add_module_sections(root, settings);
    return settings;
}

std::vector<ModuleTextSections> read_module_text_sections(const std::string& root) {
    std::vector<ModuleTextSections> modules;
    std::error_code error;
    std::size_t seen = 0;
    for (fs::directory_iterator at(root + "/sys/module", error), end; !error && at != end; at.increment(error)) {
        if (++seen > kMostModules) break;
        std::error_code none;
        const auto sections = at->path() / "sections";
        if (!fs::is_directory(sections, none)) continue;  // built in
        modules.push_back({.name = at->path().filename().string(), .sections = split_sections(sections)});
    }
    std::ranges::sort(modules, {}, &ModuleTextSections::name);
    return modules;
}

}  // namespace perfvigil::collector
