// SPDX-License-Identifier: GPL-2.0-or-later
// Files without a name, for code that takes descriptors.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"

namespace perfvigil::test {

// A memfd that holds `bytes`.
[[nodiscard]] inline UniqueFd memory_file(Bytes bytes) {
    UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
    if (!write_all(fd.get(), bytes)) return {};
    return fd;
}

[[nodiscard]] inline std::vector<std::byte> bytes_of(const MappedFile& file) {
    return {file.bytes().begin(), file.bytes().end()};
}

}  // namespace perfvigil::test
