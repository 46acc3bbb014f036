// SPDX-License-Identifier: GPL-2.0-or-later
// From (Dso, offset) to a function's name, and why not where there is none. What stands behind it (kallsyms, files
// opened in time, the symbol child) is hidden, so profiles can be built in tests with a fake.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/build_id.hpp"
#include "base/time.hpp"
#include "collector/processes.hpp"

namespace perfvigil::analyzer {

// Why an address has no name; label values of perfvigil_unresolved_ratio{reason}.
enum class UnknownReason : std::uint8_t {
    kNone,             // it has one
    kNoFile,           // the file could not be opened (gone, other mount namespace, no rights)
    kBuildIdMismatch,  // there is a file of that path, but it is another one
    kNoSymbols,        // stripped
    kOutsideSymbols,   // symbols exist, none covers the address
    kAnonymous,        // code without a file and without a perf map
    kKernelHidden,     // kptr_restrict or missing CAP_SYSLOG: kallsyms shows zeros
    kUnreadable,       // not ELF, damaged, or the symbol child gave it up
    kPending,          // not read yet
    kUnmapped,         // the address lay in no mapping
};
[[nodiscard]] std::string_view reason_name(UnknownReason reason);  // "no_file", "stripped", …

struct Symbol {
    std::string_view name;    // demangled; empty when unknown
    std::string_view dso;     // what to show: "[kernel.kallsyms]", "[nfsd]", "/usr/lib/…/libc.so.6", "[vdso]"
    std::uint64_t start = 0;  // in the Dso's terms
    std::uint64_t size = 0;   // 0: unknown
    UnknownReason reason = UnknownReason::kNone;
    bool passing = false;  // of code that may be replaced: ask again for the next slice
};

struct CodePlace {
    const collector::DsoRef* dso = nullptr;
    std::uint64_t offset = 0;
};

// What is known of a file beside its functions.
struct FileFacts {
    BuildId build_id;       // empty: unknown
    std::string package{};  // that it belongs to; empty: none, or not known
    std::string package_version{};
};

class Symbolizer {
public:
    virtual ~Symbolizer() = default;
    // Views live as long as the symbolizer, or until the Dso is evicted between windows (begin_window).
    [[nodiscard]] virtual Symbol resolve(const collector::DsoRef& dso, std::uint64_t offset) = 0;
    [[nodiscard]] virtual FileFacts describe(const collector::DsoRef& dso) { return {.build_id = dso->build_id}; }
    virtual void begin_window() {}
    // What is asked for from now on ran between the two times.
    virtual void begin_slice(MonotonicTime from, MonotonicTime to) {
        (void)from;
        (void)to;
    }
    // Each as resolve() has it; where an answer takes a question to somebody else, one is asked for all.
    [[nodiscard]] virtual std::vector<Symbol> resolve_all(std::span<const CodePlace> places) {
        std::vector<Symbol> symbols;
        symbols.reserve(places.size());
        for (const auto& place : places) symbols.push_back(resolve(*place.dso, place.offset));
        return symbols;
    }
};

}  // namespace perfvigil::analyzer
