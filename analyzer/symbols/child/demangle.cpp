// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/demangle.hpp"

// libiberty.h declares basename() anew unless it is told that the C library has it.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include <algorithm>
#include <csetjmp>
#include <optional>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// libiberty hands its output out in pieces. A short name can stand for an endless one (each substitution doubles
// it), so the first piece over the limit leaves by longjmp: libiberty's callback forms own no memory then.
struct BoundedText {
    char* out;
    std::size_t size = 0;
    std::jmp_buf full;
};

void append_bounded(const char* piece, std::size_t size, void* opaque) {
    auto& text = *static_cast<BoundedText*>(opaque);
    const auto room = kMaxDemangledName - text.size;
    std::copy_n(piece, std::min(size, room), text.out + text.size);
    text.size += std::min(size, room);
    if (size > room) std::longjmp(text.full, 1);
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

// Plain data only between setjmp and the demangler: no destructor is jumped over. The buffer is the caller's.
std::optional<std::size_t> run(Demangler demangler, const char* mangled, char* out, bool& cut) {
    BoundedText text{.out = out, .size = 0, .full = {}};
    if (setjmp(text.full) != 0) {
        cut = true;
        return text.size;
    }
    // No DMGL_NO_RECURSE_LIMIT: depth stays under libiberty's 2048. No DMGL_PARAMS: the name alone.
    if (demangler(mangled, DMGL_NO_OPTS, append_bounded, &text) == 0) return std::nullopt;
    return text.size;
}

std::optional<std::string> demangle_with(Demangler demangler, const std::string& mangled) {
    std::string text(kMaxDemangledName, '\0');
    bool cut = false;
    const auto size = run(demangler, mangled.c_str(), text.data(), cut);
    if (!size || *size == 0) return std::nullopt;
    text.resize(*size);
    if (cut) text.back() = '~';
    return text;
}

// Where a Rust symbol's own part ends and the compiler's suffix begins. Legacy names contain dots of their own and
// end in "17h" + 16 hex digits + "E"; v0 names have no dots.
std::size_t rust_suffix(std::string_view name) {
    if (name.starts_with("_R")) return std::min(name.find('.'), name.size());
    for (auto at = name.rfind("17h"); at != std::string_view::npos && at > 0; at = name.rfind("17h", at - 1)) {
        const auto end = at + 3 + 16;
        if (end < name.size() && name[end] == 'E') return end + 1;
    }
    return name.size();
}

bool maybe_mangled(std::string_view name) {
    return name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("_GLOBAL_");
}

std::string demangled_or_same(std::string_view name) {
    std::string whole(name);
    if (auto rust = demangle_with(rust_demangle_callback, whole)) {
        return *rust + whole.substr(rust_suffix(name));
    }
    const auto dot = std::min(name.find('.'), name.size());
    if (auto cpp = demangle_with(cplus_demangle_v3_callback, whole.substr(0, dot))) {
        return *cpp + whole.substr(dot);
    }
    return whole;
}

bool plain_text(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7f' && c != '\\'; });
}

}  // namespace

std::string display_name(std::string_view linker_name) {
    const bool too_long = linker_name.size() > kMaxMangledName;
    const auto version = linker_name.find('@', 1);
    std::string name;
    if (too_long) {
        name = std::string(linker_name.substr(0, kMaxDemangledName - 1)) + '~';
    } else {
        const auto bare = linker_name.substr(0, version);
        name = maybe_mangled(bare) ? demangled_or_same(bare) : std::string(bare);
    }
    if (name.size() > kMaxDemangledName) {
        name.resize(kMaxDemangledName);
        name.back() = '~';
    }
    return plain_text(name) ? name : escape(name);
}

}  // namespace perfvigil::analyzer
