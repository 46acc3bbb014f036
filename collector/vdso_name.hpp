// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel maps two vDSOs under one name: 64-bit and 32-bit processes have different images.
#pragma once

#include <string_view>

namespace perfvigil::collector {

// That of 32-bit processes, as perf calls it; "[vdso]" is the other one.
inline constexpr std::string_view kVdso32 = "[vdso32]";

}  // namespace perfvigil::collector
