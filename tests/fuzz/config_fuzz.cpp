// SPDX-License-Identifier: GPL-2.0-or-later
// Any text as a configuration: faults or options, and options that are accepted survive being printed and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace perfvigil::config;
    const auto loaded = load_text({reinterpret_cast<const char*>(data), size});
    for (const auto& fault : loaded.faults) (void)to_text(fault, "fuzz");
    if (!loaded.faults.empty()) return 0;
    const auto again = load_text(print_yaml(loaded.options));
    if (!again.faults.empty() || !difference(loaded.options, again.options).live.empty() ||
        !difference(loaded.options, again.options).restart.empty()) {
        std::abort();
    }
    return 0;
}
