// SPDX-License-Identifier: GPL-2.0-or-later
// The binary CPU profile of gperftools (cpuprofile-fileformat.html), which Go wrote before pprof: counts of stacks of
// addresses, and the mappings they lay in. It holds no names: every function is an unknown one of its binary.
#pragma once

#include "analyzer/profile.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

[[nodiscard]] Result<Profile> read_cpu_profile(Bytes bytes);
[[nodiscard]] bool looks_like_cpu_profile(Bytes start);

}  // namespace perfvigil::analyzer
