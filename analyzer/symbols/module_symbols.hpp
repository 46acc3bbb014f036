// SPDX-License-Identifier: GPL-2.0-or-later
// Names for code of kernel modules from their .ko files. The loader says where it put each section of a module's code
// (collector/kernel_modules.hpp), so an address leads to a section of the file and to a symbol there: exact, whatever
// the compiler did with sections, and with the symbols' sizes, which kallsyms lacks. Code that no symbol of the file
// covers is a gap; kallsyms would give it the name of the function in front.
//
// A file is taken only with the module's own build-id: from perf's build-id cache, below --symfs, from this host's
// /lib/modules. It may be compressed (.xz, .zst, .gz). One owner; may block on the symbol child at a module's first
// address.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/symbols/file_symbols.hpp"
#include "analyzer/symbols/inlined_frames.hpp"
#include "analyzer/symbols/sourced_files.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "collector/kernel_modules.hpp"

namespace perfvigil::analyzer {

class ModuleSymbols {
public:
    // Both outlive this.
    ModuleSymbols(SymbolChild& child, SourcedFiles& files) : child_(child), files_(files) {}

    // Which modules there are, or were in the capture: of two that hold an address the later one counts.
    void set_modules(std::vector<collector::KernelModule> modules);

    enum class Kind : std::uint8_t {
        kFunction,
        kGap,        // in a section of the module's file, in no function
        kElsewhere,  // in the module, in none of its file's sections (its code for start-up, data that is executed)
        kNoFile,     // in a module whose file or sections are not to be had
        kNoModule,
    };
    struct Answer {
        Kind kind = Kind::kNoModule;
        std::string_view dso{};   // "[ext4]"; empty with kNoModule
        std::string_view name{};  // with kFunction
        RuntimeAddress start{};
        std::uint64_t size = 0;
    };
    // Views live until the next begin_window() behind a set_modules() that left the module out.
    [[nodiscard]] Answer find(RuntimeAddress address);
    void begin_window();

    // The module's file, decompressed, and where in it the code at `address` stands.
    struct Code {
        OpenedFileRef file;
        std::uint64_t offset = 0;
    };
    [[nodiscard]] Result<Code> code_at(RuntimeAddress address);

    // "[ext4]"; empty: no module lies there. As for find().
    [[nodiscard]] std::string_view dso_at(RuntimeAddress address) const;
    // Which calls were inlined at these addresses of one module, which find() knows, with source lines; link addresses
    // here are runtime addresses. From the module's file, else from its separate debug file. The error says what is
    // missing.
    [[nodiscard]] Result<InlinedFrames> inlined(const std::vector<LinkAddress>& addresses);

    // How the modules that were asked for are named: "ext4 and jbd2 by their files; nfsd by kallsyms (…)". Empty: none
    // was asked for.
    [[nodiscard]] std::string sentence() const;

    [[nodiscard]] std::size_t bytes() const;

private:
    struct Module {
        collector::KernelModule facts;
        std::string dso;
        std::optional<FileSymbols> symbols{};
        bool tried = false;
        bool wanted = true;  // still among the modules
        std::string why{};   // tried, and without symbols
    };
    [[nodiscard]] Module* module_at(RuntimeAddress address) const;
    void load(Module& module);
    // The first candidate that is this module's; its symbols beside it.
    struct Found {
        OpenedFileRef file;
        FileSymbols symbols;
    };
    [[nodiscard]] Result<Found> search(const collector::KernelModule& module);
    [[nodiscard]] Result<Found> judge(const OpenedFileRef& candidate, const collector::KernelModule& module);
    // Whose build-id is the module's.
    [[nodiscard]] Result<Found> read(const OpenedFileRef& candidate, const collector::KernelModule& module);

    static constexpr std::size_t kMaxBytes = 256U << 20;  // of all tables

    SymbolChild& child_;
    SourcedFiles& files_;
    std::vector<std::unique_ptr<Module>> modules_;  // the newest last; none is moved while views of it are out
    std::map<std::uint64_t, Module*> by_start_;
};

}  // namespace perfvigil::analyzer
