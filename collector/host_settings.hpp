// SPDX-License-Identifier: GPL-2.0-or-later
// A few settings of the host that change what a profile of it means, as (name, value). Knows where they are read, not
// what follows from them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace perfvigil::collector {

using HostSettings = std::vector<std::pair<std::string, std::string>>;

// "smt": "on" or "off"; "transparent_hugepage": "always", "madvise" or "never"; "virtual_machine": "yes" or "no" (x86);
// "module_sections": "read" where the sections of loaded modules can be listed, and then for each module whose code
// lies in more than kOrdinaryTextSections sections of their own "split_text.MODULE": their number.
// What cannot be read is not there.
[[nodiscard]] HostSettings read_host_settings(const std::string& root, std::string_view cpuinfo);

// A module built in the usual way has a handful of text sections (.text, .text.unlikely, .init.text …); one with a
// section for each function (-ffunction-sections, clang's LTO) has dozens. Linux: kernel/module/main.c lays each out
// by itself, so that its functions do not lie in the order of the file.
inline constexpr std::size_t kOrdinaryTextSections = 4;

}  // namespace perfvigil::collector
