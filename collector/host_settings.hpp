// SPDX-License-Identifier: GPL-2.0-or-later
// A few settings of the host that change what a profile of it means, as (name, value). Knows where they are read, not
// what follows from them.
#pragma once

#include <cstddef>
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

// Each loaded module of /sys/module whose sections can be listed (built-in ones have none), and how many of them are of
// one function (base/section_names.hpp).
struct ModuleTextSections {
    std::string name;
    std::size_t sections = 0;
};
[[nodiscard]] std::vector<ModuleTextSections> read_module_text_sections(const std::string& root);

}  // namespace perfvigil::collector
