// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of a kernel image's ELF file (vmlinux, or its separate debug file), with the sizes that kallsyms lacks,
// moved to where a capture says its kernel lay. Knows no modules: they are files of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/kernel_symbols.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "base/error.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

class VmlinuxSymbols {
public:
    // Only with the capture's kernel build-id. The errors are sentences about the file, without its name.
    [[nodiscard]] static Result<VmlinuxSymbols> load(SymbolChild& child, OpenedFileRef file,
                                                     const collector::HostFacts& capture);

    // In the capture's addresses.
    [[nodiscard]] std::optional<KernelSymbols::Function> find(RuntimeAddress address) const;
    [[nodiscard]] bool in_core_text(RuntimeAddress address) const;

    [[nodiscard]] const KernelSymbols& symbols() const { return symbols_; }  // in link addresses
    [[nodiscard]] std::uint64_t shift() const { return shift_; }  // capture's address + shift = link address (mod 2^64)
    [[nodiscard]] const OpenedFileRef& file() const { return file_; }

private:
    VmlinuxSymbols(OpenedFileRef file, KernelSymbols symbols, std::uint64_t shift)
        : file_(std::move(file)), symbols_(std::move(symbols)), shift_(shift) {}

    OpenedFileRef file_;
    KernelSymbols symbols_;
    std::uint64_t shift_ = 0;
};

}  // namespace perfvigil::analyzer
