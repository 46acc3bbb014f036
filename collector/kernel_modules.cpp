// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/kernel_modules.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxModules = 4096;
constexpr std::size_t kMaxSections = 16384;  // of one module
constexpr std::size_t kMaxAllSections = 65536;

// "kernel/fs/ext4/ext4.ko.xz" → "ext4", in the spelling of /proc/modules.
std::string module_name_of(std::string_view path) {
    std::string name(base_name(path));
    name.resize(std::min(name.find(".ko"), name.size()));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

using Paths = boost::unordered_flat_map<std::string, std::string>;

Paths module_paths(const std::string& root, const std::string& release) {
    Paths paths;
    const std::string folder = "/lib/modules/" + release + "/";
    const auto index = read_file(root + folder + "modules.dep");
    if (!index) return paths;
    std::string_view lines = *index;
    while (!lines.empty()) {
        std::string_view line = next_piece(lines, '\n');
        const std::string_view path = next_piece(line, ':');
        if (!path.empty()) paths.emplace(module_name_of(path), folder + std::string(path));
    }
    return paths;
}

// "ext4 778240 1 - Live 0xffffffffc0300000"; the address is 0 where it is hidden from us.
std::optional<KernelModule> parse_line(std::string_view line) {
    const auto fields = split(line, ' ');
    if (fields.size() < 6 || !fields[5].starts_with("0x")) return std::nullopt;
    KernelModule module{.name = std::string(fields[0]), .path = {}, .build_id = {}};
    module.size = parse_number<std::uint64_t>(fields[1]).value_or(0);
    module.start = parse_number<std::uint64_t>(fields[5].substr(2), 16).value_or(0);
    if (module.start == 0 || module.size == 0 || module.name.contains('/')) return std::nullopt;
    return module;
}

template <class Visit>
void for_each_module(const std::string& root, Visit&& visit) {
    const auto text = read_file(root + "/proc/modules");
    std::string_view lines = text ? std::string_view(*text) : std::string_view();
    std::size_t count = 0;
    while (!lines.empty() && count < kMaxModules) {
        if (auto module = parse_line(next_piece(lines, '\n'))) {
            visit(std::move(*module));
            ++count;
        }
    }
}

BuildId build_id_of_notes_file(const std::string& path) {
    const auto notes = read_file(path, 1U << 20);
    return notes ? build_id_from_notes(std::as_bytes(std::span(*notes))) : BuildId();
}

// The kernel's own names for code (include/asm-generic/vmlinux.lds.h) all speak of text; old x86 modules have .fixup.
// .init.* is freed after the module's start, and others may lie there then.
bool is_code_section(std::string_view name) {
    return !name.starts_with(".init") && (name.contains("text") || name == ".fixup") && !name.starts_with(".rela");
}

// All or nothing: with some of them missing, an address in those would be given to a neighbour.
std::vector<ModuleSection> read_sections(const fs::path& folder) {
    std::vector<ModuleSection> sections;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const auto name = at->path().filename().string();
        if (!is_code_section(name)) continue;
        const auto text = read_file(at->path(), 64);
        const std::string_view value = text ? trim(*text) : std::string_view();
        const auto address = value.starts_with("0x") ? parse_number<std::uint64_t>(value.substr(2), 16).value_or(0) : 0;
        if (address == 0 || sections.size() == kMaxSections) return {};
        sections.push_back({.name = name, .address = address});
    }
    if (error) return {};
    std::ranges::sort(sections, {}, [](const ModuleSection& s) { return std::pair(s.address, s.name); });
    return sections;
}

void complete(KernelModule& module, const std::string& root, const Paths& paths, std::size_t& sections_left) {
    const auto path = paths.find(module.name);
    module.path = path != paths.end() ? path->second : "[" + module.name + "]";
    const auto folder = root + "/sys/module/" + module.name;
    module.build_id = build_id_of_notes_file(folder + "/notes/.note.gnu.build-id");
    module.sections = read_sections(folder + "/sections");
    if (module.sections.size() > sections_left) module.sections.clear();
    sections_left -= module.sections.size();
}

void sort_by_address(std::vector<KernelModule>& modules) { std::ranges::sort(modules, {}, &KernelModule::start); }

}  // namespace

std::vector<KernelModule> read_kernel_modules(const std::string& root, const std::string& release) {
    std::vector<KernelModule> modules;
    for_each_module(root, [&](KernelModule module) { modules.push_back(std::move(module)); });
    if (modules.empty()) return modules;
    const auto paths = module_paths(root, release);
    std::size_t sections_left = kMaxAllSections;
    for (auto& module : modules) complete(module, root, paths, sections_left);
    sort_by_address(modules);
    return modules;
}

ModuleWatch::ModuleWatch(std::string root, std::string release)
    : root_(std::move(root)), release_(std::move(release)), seen_(look()) {}

ModuleWatch::Places ModuleWatch::look() const {
    Places places;
    for_each_module(root_, [&](const KernelModule& module) { places.emplace(module.name, module.start); });
    return places;
}

std::vector<KernelModule> ModuleWatch::news() {
    auto now = look();
    std::vector<KernelModule> found;
    if (now == seen_) return found;
    const auto before = std::exchange(seen_, std::move(now));
    for (auto& module : read_kernel_modules(root_, release_)) {
        const auto known = before.find(module.name);
        if (known == before.end() || known->second != module.start) found.push_back(std::move(module));
    }
    return found;
}

}  // namespace perfvigil::collector
