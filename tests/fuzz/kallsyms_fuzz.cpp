// SPDX-License-Identifier: GPL-2.0-or-later
// /proc/kallsyms: any text gives ranges that ascend, are disjoint and are found by their own addresses.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analyzer/symbols/kernel_symbols.hpp"

using perfvigil::RuntimeAddress;
using perfvigil::analyzer::KernelSymbols;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto symbols = KernelSymbols::parse({reinterpret_cast<const char*>(data), size});
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const auto function = symbols.at(i);
        if (function.start.value < position || function.dso.empty()) std::abort();
        position = function.start.value + function.size;
        if (function.size == 0) continue;
        const auto found = symbols.find(function.start);
        if (!found || found->start != function.start) std::abort();
    }
    (void)symbols.find(RuntimeAddress{0});
    (void)symbols.find(RuntimeAddress{~0ULL});
    (void)symbols.text_ranges([](std::string_view name) { return static_cast<std::uint8_t>(name.size() % 3); });
    return 0;
}
