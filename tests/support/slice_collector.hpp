// SPDX-License-Identifier: GPL-2.0-or-later
// A process table and a slice builder with a sink of the slices they make.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "analyzer/slice/builder.hpp"
#include "collector/processes.hpp"
#include "collector/stream.hpp"

namespace perfvigil::test {

class SliceCollector final : public collector::RecordSink {
public:
    explicit SliceCollector(const collector::EventTable& events, analyzer::KernelText text = {},
                            analyzer::SliceLimits limits = {})
        : builder(events, processes, std::move(text), limits,
                  [this](std::unique_ptr<analyzer::Slice> slice) { slices.push_back(std::move(slice)); }) {}

    void on_record(const collector::OrderedRecord& record) override { builder.on_record(record); }
    void on_cut(const collector::Cut& cut) override { builder.on_cut(cut); }

    collector::ProcessTable processes;
    analyzer::SliceBuilder builder;
    std::vector<std::unique_ptr<analyzer::Slice>> slices;
};

}  // namespace perfvigil::test
