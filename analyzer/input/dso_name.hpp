// SPDX-License-Identifier: GPL-2.0-or-later
// What the name that a text prints for a DSO says of it.
#pragma once

#include <string_view>

namespace perfvigil::analyzer {

// The kernel, one of its modules, or BPF: "[kernel.kallsyms]", "/boot/vmlinux-6.1.0", "[nfsd]", "…/nfsd.ko.xz".
[[nodiscard]] bool is_kernel_dso(std::string_view name);
// "[nfsd]" and "/lib/modules/…/nfsd.ko.xz" → "nfsd"; nothing for the kernel's own image, for BPF and for user code.
[[nodiscard]] std::string_view kernel_module_of(std::string_view name);
// Code that a runtime made: "/tmp/perf-123.map", "[JIT] tid 123".
[[nodiscard]] bool is_jit_dso(std::string_view name);

}  // namespace perfvigil::analyzer
