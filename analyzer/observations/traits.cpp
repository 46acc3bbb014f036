// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/observations/traits.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/observations/trait_names.hpp"
#include "analyzer/slice/kernel_text.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

Traits exact(std::string_view name) {
    Traits found = 0;
    const auto [first, last] = std::ranges::equal_range(kernel_names(), name, {}, &NamedTrait::name);
    for (auto at = first; at != last; ++at) found |= bits(at->trait);
    return found;
}

Traits by_prefix(std::string_view name) {
    for (const auto& [prefix, trait] : kKernelPrefixes) {
        if (name.starts_with(prefix)) return bits(trait);
    }
    return 0;
}

Traits of_kernel_function(std::string_view name) {
    Traits found = exact(name) | by_prefix(name);
    const TextClass text_class = KernelText::class_of_symbol(name);
    if (text_class == TextClass::kInterrupt || text_class == TextClass::kSoftirq) found |= bits(Trait::kInterrupt);
    if (text_class == TextClass::kIdlePoll) found |= bits(Trait::kPollIdle);
    return found;
}

bool is_c_library(std::string_view dso) {
    constexpr auto kNames =
        std::to_array<std::string_view>({"libc.so", "libc-", "libc.musl", "ld-linux", "ld-musl", "ld-2", "libpthread"});
    const std::string_view name = base_name(dso);
    return std::ranges::any_of(kNames, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// "__memmove_avx_unaligned_erms" → "memmove" and that it is one of glibc's assembly variants.
struct StringRoutine {
    std::string_view name;
    bool assembly = false;
};
StringRoutine string_routine(std::string_view name) {
    constexpr auto kVariants = std::to_array<std::string_view>(
        {"sse", "ssse", "avx", "evex", "erms", "unaligned", "generic", "falkor", "thunderx", "simd", "sve", "mops"});
    while (name.starts_with('_')) name.remove_prefix(1);
    const auto bar = name.find('_');
    StringRoutine routine{.name = name.substr(0, bar)};
    if (bar == std::string_view::npos) return routine;
    const std::string_view variant = name.substr(bar + 1);
    routine.assembly =
        std::ranges::any_of(kVariants, [&](std::string_view known) { return variant.starts_with(known); });
    return routine;
}

Traits of_user_function(std::string_view name, std::string_view dso) {
    if (name == "main") return bits(Trait::kMain);
    if (!is_c_library(dso)) return 0;
    if (name == "__libc_start_call_main") return bits(Trait::kCallsMain);
    constexpr auto kCopies = std::to_array<std::string_view>({"memcpy", "memmove", "mempcpy", "memset", "bzero"});
    constexpr auto kOthers = std::to_array<std::string_view>(
        {"memchr",    "memcmp",  "memcmpeq", "memrchr", "rawmemchr", "strlen",     "strnlen",     "strchr",
         "strchrnul", "strrchr", "strcmp",   "strncmp", "strcpy",    "strncpy",    "stpcpy",      "stpncpy",
         "strcat",    "strncat", "strcspn",  "strspn",  "strpbrk",   "strcasecmp", "strncasecmp", "strstr",
         "wcslen",    "wcsnlen", "wcschr",   "wmemset", "wmemcmp"});
    const StringRoutine routine = string_routine(name);
    const bool copies = std::ranges::find(kCopies, routine.name) != kCopies.end();
    if (!copies && std::ranges::find(kOthers, routine.name) == kOthers.end()) return 0;
    return (copies ? bits(Trait::kUserCopyRoutine) : 0) | (routine.assembly ? bits(Trait::kFrameless) : 0);
}

}  // namespace

Traits traits_of(const ProfileFunction& function) {
    if (function.reason != UnknownReason::kNone) return 0;
    const std::string_view whole = function.name;
    const std::string_view name = whole.substr(0, whole.find('.', 1));  // without clone suffixes
    return function.kernel ? of_kernel_function(name) : of_user_function(name, function.dso);
}

}  // namespace perfvigil::analyzer
