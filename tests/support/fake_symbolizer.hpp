// SPDX-License-Identifier: GPL-2.0-or-later
// A Symbolizer that knows what a test tells it, by default the code of synthetic recordings.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analyzer/symbols/symbolizer.hpp"
#include "tests/support/synthetic_stream.hpp"

namespace perfvigil::test {

class FakeSymbolizer final : public analyzer::Symbolizer {
public:
    struct Function {
        std::uint64_t size = 0;
        std::string name;
    };
    struct File {
        std::map<std::uint64_t, Function> functions;                      // by start, in the Dso's terms
        std::string shown_as;                                             // empty: its path
        analyzer::UnknownReason reason = analyzer::UnknownReason::kNone;  // why all of it has no names
    };

    // The kernel's functions, and those of the program as "function_0", "function_1", …
    FakeSymbolizer() {
        const auto& names = SyntheticCode::kernel_functions();
        for (std::size_t i = 0; i < names.size(); ++i) {
            files["[kernel.kallsyms]"].functions[SyntheticCode::kKernelStart + i * SyntheticCode::kFunctionSize] = {
                SyntheticCode::kFunctionSize, names[i]};
        }
        constexpr std::size_t kFunctions = 64;
        for (std::size_t i = 0; i < kFunctions; ++i) {
            files["/usr/bin/worker"].functions[SyntheticCode::program_offset(i)] = {SyntheticCode::kFunctionSize,
                                                                                    "function_" + std::to_string(i)};
        }
    }

    [[nodiscard]] analyzer::Symbol resolve(const collector::DsoRef& dso, std::uint64_t offset) override {
        ++lookups;
        const auto file = files.find(dso->path);
        if (file == files.end()) {
            const bool anonymous = dso->kind == collector::DsoKind::kAnonymous;
            return {.name = {},
                    .dso = dso->path,
                    .reason = anonymous ? analyzer::UnknownReason::kAnonymous : analyzer::UnknownReason::kNoFile};
        }
        const auto& [functions, shown_as, reason] = file->second;
        analyzer::Symbol symbol{.name = {}, .dso = shown_as.empty() ? std::string_view(dso->path) : shown_as};
        symbol.reason = reason;
        if (reason != analyzer::UnknownReason::kNone) return symbol;
        const auto after = functions.upper_bound(offset);
        if (after == functions.begin() || offset >= std::prev(after)->first + std::prev(after)->second.size) {
            symbol.reason = analyzer::UnknownReason::kOutsideSymbols;
            return symbol;
        }
        symbol.name = std::prev(after)->second.name;
        symbol.start = std::prev(after)->first;
        symbol.size = std::prev(after)->second.size;
        return symbol;
    }
    void begin_window() override { ++windows; }

    std::map<std::string, File, std::less<>> files;  // by Dso path
    std::size_t lookups = 0;
    std::size_t windows = 0;
};

}  // namespace perfvigil::test
