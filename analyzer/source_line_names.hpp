// SPDX-License-Identifier: GPL-2.0-or-later
// Source lines for the samples of a profile whose contexts tell instructions apart (SampleSelection::by_line).
#pragma once

#include <vector>

#include "analyzer/profile.hpp"
#include "analyzer/sampled_codes.hpp"
#include "analyzer/symbols/host_names.hpp"

namespace perfvigil::analyzer {

// While a profile grows, ProfileContext::source_line is a position in `codes`; here it becomes "file.c:12", or says
// that there is none.
void name_source_lines(Profile& profile, const std::vector<SampledCode>& codes, HostNames& names);

}  // namespace perfvigil::analyzer
