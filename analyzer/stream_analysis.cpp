// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/stream_analysis.hpp"

namespace perfvigil::analyzer {

StreamAnalysis::StreamAnalysis(const collector::EventTable& events, Symbolizer& symbolizer, KernelText text,
                               SliceLimits limits, collector::DsoListener* listener)
    : processes_({}, listener),
      profile_(events.events(), symbolizer),
      slices_(events, processes_, std::move(text), limits,
              [this](std::unique_ptr<Slice> slice) { take(std::move(slice)); }) {}

void StreamAnalysis::take(std::unique_ptr<Slice> slice) {
    profile_.add(*slice);
    slices_.recycle(std::move(slice));
}

}  // namespace perfvigil::analyzer
