// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel's own code is called among the binaries of a profile; its modules have names of their own.
#pragma once

#include <string_view>

namespace perfvigil::analyzer {

inline constexpr std::string_view kKernelDso = "[kernel.kallsyms]";

}  // namespace perfvigil::analyzer
