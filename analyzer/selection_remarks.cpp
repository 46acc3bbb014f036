// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/selection_remarks.hpp"

#include <utility>

namespace perfvigil::analyzer {

bool keeps_cpus(const SampleSelection& selection) {
    return !selection.time && selection.pids.empty() && selection.tids.empty() && !selection.cgroup;
}

void add_selection_remarks(Profile& profile, const SampleFilter& filter, SampleFilter::Source source) {
    const SampleSelection& selection = filter.selection();
    if (!keeps_cpus(selection)) {
        profile.notes.emplace_back(
            "Busy and the ledgers of CPUs are left out: they are of all that ran on a CPU, and only some of it was "
            "selected.");
    } else if (!selection.cpus.empty()) {
        profile.notes.emplace_back("Busy and the ledgers are those of the selected CPUs.");
    }
    for (auto& sentence : filter.sentences(source)) profile.warnings.push_back(std::move(sentence));
    if (selection.time && selection.time->unit == TimeRange::Unit::kSeconds && profile.samples.empty()) {
        profile.warnings.emplace_back("No sample lies in the time range " + to_text(*selection.time) +
                                      ", which counts from the first sample on.");
    }
}

}  // namespace perfvigil::analyzer
