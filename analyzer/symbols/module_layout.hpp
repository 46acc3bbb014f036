// SPDX-License-Identifier: GPL-2.0-or-later
// Whether the modules of a kernel have a section for each of their functions, and therefore which copy of
// /proc/kallsyms stock perf needs to name them. perf computes a module function's address from its .ko as if the text
// were one piece; that holds for modules built in the usual way alone. Judged by what was loaded, or by the .ko files
// themselves, never by how a kernel's Makefile reads: its -ffunction-sections is about other code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/symbols/symbol_child.hpp"

namespace perfvigil::analyzer {

enum class ModuleLayout : std::uint8_t { kWhole, kSplit, kUnknown };

// kStripped: the kernel's own symbols alone, perf names modules by their .ko. kFull: with the modules' symbols by
// runtime address, for which perf gives up its sizes.
enum class KallsymsForm : std::uint8_t { kStripped, kFull };

struct ModuleLayoutVerdict {
    ModuleLayout layout = ModuleLayout::kUnknown;
    KallsymsForm form = KallsymsForm::kFull;                 // unknown: the form that is right in any case
    std::size_t modules = 0;                                 // looked at
    std::vector<std::pair<std::string, std::size_t>> split;  // module and its sections of one function, most first
    std::string evidence;                                    // sentences
};

// Loaded modules by /sys/module/*/sections; where there are none, up to kLayoutFiles .ko files of /lib/modules/RELEASE.
inline constexpr std::size_t kLayoutFiles = 16;
[[nodiscard]] ModuleLayoutVerdict judge_module_layout(SymbolChild& child, const std::string& release,
                                                      const std::string& root = "");

}  // namespace perfvigil::analyzer
