// SPDX-License-Identifier: GPL-2.0-or-later
// A copy of /proc/kallsyms in the form that stock perf needs (perf report --kallsyms=FILE; module_layout.hpp says which
// form that is).
#pragma once

#include <string>

#include "analyzer/symbols/module_layout.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

// The lines as they are, all of them or the kernel's own. kPermission where every address is zero.
[[nodiscard]] Result<std::string> copy_kallsyms(KallsymsForm form, const std::string& path = "/proc/kallsyms");

}  // namespace perfvigil::analyzer
