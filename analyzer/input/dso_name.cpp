// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/dso_name.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// What stands in brackets and is no module of the kernel.
constexpr std::array<std::string_view, 12> kUserBrackets{"[unknown]",  "[vdso]",    "[vdso32]", "[vdsox32]",
                                                         "[vsyscall]", "[uprobes]", "[heap]",   "[stack]",
                                                         "[anon]",     "[vvar]",    "[cut]",    "[vectors]"};
constexpr std::array<std::string_view, 3> kUserPrefixes{"[JIT", "[stack:", "[guest"};
constexpr std::array<std::string_view, 4> kModuleEndings{".ko", ".ko.gz", ".ko.xz", ".ko.zst"};

}  // namespace

bool is_kernel_dso(std::string_view name) {
    if (name.empty()) return false;
    if (name.front() == '[') {
        if (name.starts_with("[kernel")) return true;
        const auto starts = [&](std::string_view prefix) { return name.starts_with(prefix); };
        return name.back() == ']' && std::ranges::find(kUserBrackets, name) == kUserBrackets.end() &&
               std::ranges::none_of(kUserPrefixes, starts);
    }
    if (name.starts_with("bpf_prog_")) return true;
    const auto file = base_name(name);
    if (file == "vmlinux" || file.starts_with("vmlinux-") || file.starts_with("vmlinux.")) return true;
    return std::ranges::any_of(kModuleEndings, [&](std::string_view ending) { return file.ends_with(ending); });
}

std::string_view kernel_module_of(std::string_view name) {
    if (!is_kernel_dso(name)) return {};
    name = base_name(name);
    if (const auto file = name.find(".ko"); file != std::string_view::npos && file != 0) return name.substr(0, file);
    if (!name.starts_with('[') || !name.ends_with(']')) return {};
    name = name.substr(1, name.size() - 2);
    const bool other = name.starts_with("kernel") || name.starts_with("__builtin__") || name == "bpf" ||
                       name == "ftrace" || name == "kprobes" || name == "hypervisor" || name == "vmlinux";
    return other ? std::string_view() : name;
}

bool is_jit_dso(std::string_view name) {
    if (name.starts_with("[JIT")) return true;
    const auto file = base_name(name);
    constexpr std::string_view kPrefix = "perf-";
    constexpr std::string_view kEnding = ".map";
    if (!file.starts_with(kPrefix) || !file.ends_with(kEnding)) return false;
    const auto digits = file.substr(kPrefix.size(), file.size() - kPrefix.size() - kEnding.size());
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace perfvigil::analyzer
