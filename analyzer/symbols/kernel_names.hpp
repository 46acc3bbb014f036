// SPDX-License-Identifier: GPL-2.0-or-later
// Names for kernel addresses, of this running kernel or of a capture. Live: kallsyms is read at first use, again when
// modules or BPF programs came or went; a name of an older reading still holds, its code ran in this window. A capture
// gets names only when it was made by the very same kernel, moved by how far that boot had shifted it; its modules and
// BPF programs lie elsewhere after a reboot and get names only within the same boot. A copy of the recording kernel's
// symbols serves instead wherever there is one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/symbols/kernel_symbols.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "analyzer/symbols/this_host.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

// Files with the symbols of the recording kernel.
struct KernelSymbolCopies {
    std::optional<std::string> given{};   // by the caller: kallsyms or System.map, its word is taken
    std::optional<std::string> cached{};  // found by the kernel's build-id
};

class KernelNames {
public:
    // Live.
    KernelNames(std::string kallsyms, const Clock& clock);
    // For a capture of the host that `facts` describes, read on `host`.
    KernelNames(std::string kallsyms, const Clock& clock, const ThisHost& host, const collector::HostFacts& facts,
                const KernelSymbolCopies& copies = {});

    // Views live until the next begin_window().
    [[nodiscard]] Symbol resolve(RuntimeAddress address);
    void begin_window();
    // Modules or BPF programs changed (KSYMBOL records, /proc/modules): read kallsyms again when next asked.
    void note_change() { changed_ = true; }

    // The newest reading; null when kallsyms cannot be read at all.
    [[nodiscard]] const KernelSymbols* symbols();
    // The stretches of the kernel's text in the capture's addresses; empty where its symbols are not known.
    [[nodiscard]] std::vector<collector::KernelTextRange> text_ranges(const KernelSymbols::Classifier& classify);
    [[nodiscard]] const std::optional<collector::Degraded>& degraded() const { return degraded_; }
    // Why the given copy is of no use; known once it was read.
    [[nodiscard]] const std::optional<Error>& copy_error() const { return copy_error_; }
    [[nodiscard]] std::uint64_t readings() const { return readings_; }

private:
    enum class Scope : std::uint8_t { kEverything, kCoreText, kNothing };

    void read();
    void take(KernelSymbols symbols);
    void refuse_copy(std::string why);
    [[nodiscard]] Symbol unknown(UnknownReason reason, RuntimeAddress address) const;
    [[nodiscard]] bool may_read_again() const;
    [[nodiscard]] std::optional<KernelSymbols::Function> find(RuntimeAddress address) const;
    void relocate();

    std::string kallsyms_;
    const Clock& clock_;
    Scope scope_ = Scope::kEverything;
    std::optional<collector::HostFacts> capture_;                  // what is needed of it; empty: live
    bool given_ = false;                                           // kallsyms_ is the caller's copy
    std::uint64_t shift_ = 0;                                      // capture's address + shift_ = ours (modulo 2^64)
    std::vector<std::unique_ptr<const KernelSymbols>> snapshots_;  // newest last
    std::optional<collector::Degraded> degraded_;
    std::optional<Error> copy_error_;
    MonotonicTime last_read_{};
    bool tried_ = false;
    bool changed_ = false;
    std::uint64_t readings_ = 0;
};

}  // namespace perfvigil::analyzer
