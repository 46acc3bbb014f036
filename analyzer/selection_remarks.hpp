// SPDX-License-Identifier: GPL-2.0-or-later
// What a profile of selected samples says about its selection: what became of the CPUs' rows, which samples could not
// be judged, and that nothing was in the range.
#pragma once

#include "analyzer/profile.hpp"
#include "analyzer/sample_filter.hpp"

namespace perfvigil::analyzer {

// Whether whole CPUs are selected, so that their busy and ledgers still mean something.
[[nodiscard]] bool keeps_cpus(const SampleSelection& selection);

void add_selection_remarks(Profile& profile, const SampleFilter& filter, SampleFilter::Source source);

}  // namespace perfvigil::analyzer
