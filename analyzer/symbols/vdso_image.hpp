// SPDX-License-Identifier: GPL-2.0-or-later
// The vDSO: code that the kernel maps into every process, the same image in all of one ABI. It has no file, so ours is
// copied into one.
#pragma once

#include "analyzer/symbols/file_source.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

// A memfd with this process's own vDSO. kNotFound: the kernel maps none.
[[nodiscard]] Result<OpenedFileRef> copy_own_vdso();

}  // namespace perfvigil::analyzer
