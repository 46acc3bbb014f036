// SPDX-License-Identifier: GPL-2.0-or-later
// Names for kernel addresses, of this running kernel or of a capture. Live: kallsyms is read at first use, again when
// modules or BPF programs came or went; a name of an older reading still holds, its code ran in this window. A capture
// gets names only when it was made by the very same kernel, moved by how far that boot had shifted it; its modules and
// BPF programs lie elsewhere after a reboot and get names from kallsyms only within the same boot. A copy of the
// recording kernel's symbols, or its vmlinux, serves instead wherever there is one; modules are named by their own
// files (ModuleSymbols) wherever it is known where their sections lay.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/symbols/kernel_symbols.hpp"
#include "analyzer/symbols/module_symbols.hpp"
#include "analyzer/symbols/sourced_files.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "analyzer/symbols/this_host.hpp"
#include "analyzer/symbols/vmlinux_symbols.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/host_facts.hpp"
#include "collector/kernel_modules.hpp"

namespace perfvigil::analyzer {

// Files with the symbols of the recording kernel.
struct KernelSymbolCopies {
    std::optional<std::string> given{};    // by the caller: kallsyms or System.map, its word is taken
    std::optional<std::string> cached{};   // found by the kernel's build-id
    std::optional<std::string> vmlinux{};  // by the caller
};

// Who reads ELF files for the kernel's names; both outlive them. `root` stands before /proc, /sys and /lib (tests).
struct KernelFiles {
    SymbolChild& child;
    SourcedFiles& sourced;
    std::string root{};
};

class KernelNames {
public:
    // Live.
    KernelNames(std::string kallsyms, const Clock& clock, std::optional<KernelFiles> files = {});
    // For a capture of the host that `facts` describes, read on `host`.
    KernelNames(std::string kallsyms, const Clock& clock, const ThisHost& host, const collector::HostFacts& facts,
                const KernelSymbolCopies& copies = {}, std::optional<KernelFiles> files = {});

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
    // Of where modules' names come from; null without KernelFiles.
    [[nodiscard]] ModuleSymbols* modules() { return modules_ ? &*modules_ : nullptr; }
    // The kernel's image, where one was given or found; null: none. Of captures alone.
    [[nodiscard]] const VmlinuxSymbols* vmlinux();
    // Why the given copy is of no use, with the option's name; known once it was read.
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
    [[nodiscard]] std::optional<Symbol> in_vmlinux(RuntimeAddress address);
    [[nodiscard]] std::optional<Symbol> in_module(RuntimeAddress address);
    [[nodiscard]] Symbol in_kallsyms(RuntimeAddress address);
    void look_for_new_modules();
    void load_vmlinux();

    std::optional<KernelFiles> files_;
    std::optional<ModuleSymbols> modules_;
    std::optional<collector::ModuleWatch> watch_;  // live
    std::optional<std::string> given_vmlinux_;
    std::optional<VmlinuxSymbols> vmlinux_;
    bool vmlinux_tried_ = false;
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
    MonotonicTime last_look_{};
    bool tried_ = false;
    bool changed_ = false;
    std::uint64_t readings_ = 0;
};

}  // namespace perfvigil::analyzer
