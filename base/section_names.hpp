// SPDX-License-Identifier: GPL-2.0-or-later
// What names of ELF sections say of how a compiler laid code out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace perfvigil {

// ".text.nfsd_dispatch" (-ffunction-sections, clang's LTO); not the names that the kernel's own build uses.
[[nodiscard]] constexpr bool is_section_of_one_function(std::string_view name) {
    constexpr auto kUsual = std::to_array<std::string_view>(
        {".text.unlikely", ".text.hot", ".text.startup", ".text.exit", ".text.unknown", ".text.ftrace_trampoline"});
    return name.starts_with(".text.") && std::ranges::find(kUsual, name) == kUsual.end();
}

// A module built in the usual way has a handful of text sections (.text, .text.unlikely, .init.text …); one with a
// section for each function has dozens. Linux: kernel/module/main.c lays each out by itself, so that its functions do
// not lie in the order of the file.
inline constexpr std::size_t kOrdinaryTextSections = 4;

}  // namespace perfvigil
