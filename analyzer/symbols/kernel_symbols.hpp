// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of the running kernel, its modules, BPF programs and trampolines, by runtime address: one reading of
// /proc/kallsyms. Immutable, so a newer reading stands beside it while names of the older one are in use.
//
// kallsyms has no sizes: a function ends where the next symbol (also a dropped one) begins, but never beyond the page
// after its start where a module or the kernel itself ends, nor beyond _etext. Names keep the compiler's suffixes.
// Dropped: what is no code, section markers, and `__pfx_`/`__cfi_` paddings, whose bytes count to the function behind
// them (call thunks run there).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/symbols/file_symbols.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "collector/degraded.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::analyzer {

class KernelSymbols {
public:
    struct Function {
        std::string_view name;  // both live as long as the symbols
        std::string_view dso;   // "[kernel.kallsyms]", "[ext4]", "[bpf]", "[ftrace]", "[kprobes]"
        RuntimeAddress start{};
        std::uint64_t size = 0;
    };

    // Takes 30 ms and twice its final memory (120 000 lines: 4 MiB).
    [[nodiscard]] static Result<KernelSymbols> load(const std::string& path = "/proc/kallsyms");
    [[nodiscard]] static KernelSymbols parse(std::string_view text);
    // Those of a kernel image's file, read in link addresses, with their sizes.
    [[nodiscard]] static KernelSymbols from_file(const FileSymbols& file);

    [[nodiscard]] std::optional<Function> find(RuntimeAddress address) const;
    // The lowest address of a function, or of "_text", "_stext" and "_etext".
    [[nodiscard]] std::optional<RuntimeAddress> address_of(std::string_view name) const;

    // All addresses read as zero: the kernel hides them from us.
    [[nodiscard]] bool hidden() const { return hidden_; }
    [[nodiscard]] bool in_core_text(RuntimeAddress address) const;  // between _text and _etext
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] Function at(std::size_t index) const;  // ascending by address
    [[nodiscard]] std::size_t bytes() const;
    [[nodiscard]] std::uint64_t malformed_lines() const { return malformed_; }

    // The stretches whose functions `classify` gives a class other than 0, neighbours joined.
    using Classifier = std::function<std::uint8_t(std::string_view name)>;
    [[nodiscard]] std::vector<collector::KernelTextRange> text_ranges(const Classifier& classify) const;

private:
    friend class KernelSymbolsBuilder;
    struct Entry {
        std::uint64_t begin = 0;  // of the range, padding in front included
        std::uint32_t size = 0;   // of the range
        std::uint32_t name = 0;   // into names_
        std::uint16_t name_size = 0;
        std::uint16_t module = 0;   // into modules_
        std::uint16_t padding = 0;  // the function starts at begin + padding
    };

    std::vector<Entry> entries_;  // by ascending begin, disjoint
    std::string names_;
    std::vector<std::string> modules_;
    std::uint64_t text_ = 0;
    std::uint64_t stext_ = 0;
    std::uint64_t etext_ = 0;
    std::uint64_t malformed_ = 0;
    bool hidden_ = false;
};

// Why kernel names are missing and what to do about it, from this process's rights and the kernel's settings. To be
// asked for when load() failed (pass its error) or hidden() holds.
[[nodiscard]] collector::Degraded explain_hidden_kernel(const Error* load_error = nullptr);

}  // namespace perfvigil::analyzer
