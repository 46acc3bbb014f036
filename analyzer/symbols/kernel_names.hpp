// SPDX-License-Identifier: GPL-2.0-or-later
// Names for kernel addresses, of this running kernel or of a capture. Live: kallsyms is read at first use, again when
// modules or BPF programs came or went; a name of an older reading still holds, its code ran in this window. A capture
// gets names only when it was made by the very same kernel, moved by how far that boot had shifted it; its modules and
// BPF programs lie elsewhere after a reboot and get names only within the same boot.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/symbols/kernel_symbols.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "analyzer/symbols/this_host.hpp"
#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

class KernelNames {
public:
    // Live.
    KernelNames(std::string kallsyms, const Clock& clock);
    // For a capture of the host that `facts` describes, read on `host`.
    KernelNames(std::string kallsyms, const Clock& clock, const ThisHost& host, const collector::HostFacts& facts);

    // Views live until the next begin_window().
    [[nodiscard]] Symbol resolve(RuntimeAddress address);
    void begin_window();
    // Modules or BPF programs changed (KSYMBOL records, /proc/modules): read kallsyms again when next asked.
    void note_change() { changed_ = true; }

    // The newest reading; null when kallsyms cannot be read at all.
    [[nodiscard]] const KernelSymbols* symbols();
    [[nodiscard]] const std::optional<collector::Degraded>& degraded() const { return degraded_; }
    [[nodiscard]] std::uint64_t readings() const { return readings_; }

private:
    enum class Scope : std::uint8_t { kEverything, kCoreText, kNothing };

    void read();
    [[nodiscard]] bool may_read_again() const;
    [[nodiscard]] std::optional<KernelSymbols::Function> find(RuntimeAddress address) const;
    void relocate();

    std::string kallsyms_;
    const Clock& clock_;
    Scope scope_ = Scope::kEverything;
    std::optional<collector::HostFacts> capture_;                  // what relocation needs of it; empty: live
    std::uint64_t shift_ = 0;                                      // capture's address + shift_ = ours (modulo 2^64)
    std::vector<std::unique_ptr<const KernelSymbols>> snapshots_;  // newest last
    std::optional<collector::Degraded> degraded_;
    MonotonicTime last_read_{};
    bool tried_ = false;
    bool changed_ = false;
    std::uint64_t readings_ = 0;
};

}  // namespace perfvigil::analyzer
