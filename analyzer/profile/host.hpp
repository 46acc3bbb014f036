// SPDX-License-Identifier: GPL-2.0-or-later
// What a profile keeps of the recording host.
#pragma once

#include "analyzer/profile.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

[[nodiscard]] ProfileHost profile_host(const collector::HostFacts& host);

}  // namespace perfvigil::analyzer
