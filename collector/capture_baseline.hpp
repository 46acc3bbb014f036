// SPDX-License-Identifier: GPL-2.0-or-later
// What a capture that begins within a recording must open with: each counter as it was last read, /proc/stat at the
// last cut, the modules that were loaded since, and the kernel symbols that came after kallsyms (BPF programs,
// trampolines). A sink that the recorder feeds all the time, beside whichever captures are open.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collector/host_facts.hpp"
#include "collector/stream.hpp"

namespace perfvigil::collector {

class CaptureBaseline final : public RecordSink {
public:
    void on_record(const OrderedRecord& record) override;
    void on_cut(const Cut& cut) override;

    struct Read {
        std::vector<std::byte> record;
        std::uint64_t cuts_ago = 0;
    };
    [[nodiscard]] const std::map<EventId, Read>& reads() const { return reads_; }
    [[nodiscard]] const std::map<std::uint64_t, std::vector<std::byte>>& kernel_symbols() const { return symbols_; }
    [[nodiscard]] const std::vector<KernelModule>& modules() const { return modules_; }
    // Of the last cut; nullopt before the first.
    [[nodiscard]] const std::optional<HostFacts::Times>& cpu_times() const { return cpu_times_; }

private:
    static constexpr std::size_t kMaxSymbols = 8192;  // a BPF-heavy host has hundreds
    static constexpr std::size_t kMaxModules = 1024;

    std::map<EventId, Read> reads_;
    std::map<std::uint64_t, std::vector<std::byte>> symbols_;  // KSYMBOL records by address
    std::vector<KernelModule> modules_;
    std::optional<HostFacts::Times> cpu_times_;
};

}  // namespace perfvigil::collector
