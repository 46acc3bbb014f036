// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_baseline.hpp"

#include <iterator>

namespace perfvigil::collector {
namespace {

std::vector<std::byte> copy_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

void CaptureBaseline::on_record(const OrderedRecord& record) {
    if (const auto* read = std::get_if<ReadRecord>(&record.record)) {
        Read& last = reads_[read->sample.id];
        last.record.assign(record.bytes.begin(), record.bytes.end());
        last.cuts_ago = 0;
    } else if (const auto* symbol = std::get_if<KsymbolRecord>(&record.record)) {
        if (symbol->unregister)
            symbols_.erase(symbol->address);
        else if (symbols_.size() < kMaxSymbols)
            symbols_[symbol->address] = copy_of(record.bytes);
    }
}

void CaptureBaseline::on_cut(const Cut& cut) {
    cpu_times_ = HostFacts::Times{cut.time, cut.cpu_times};
    for (const auto& module : cut.modules) {
        if (modules_.size() < kMaxModules) modules_.push_back(module);
    }
    // Every living counter is read before every cut.
    for (auto item = reads_.begin(); item != reads_.end();) {
        const bool gone = item->second.cuts_ago++ > 0;
        item = gone ? reads_.erase(item) : std::next(item);
    }
}

}  // namespace perfvigil::collector
