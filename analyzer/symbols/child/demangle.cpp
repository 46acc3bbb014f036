// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/demangle.hpp"

// libiberty.h declares basename() anew unless it is told that the C library has it.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include <algorithm>
#include <array>
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
    std::array<char, kMaxDemangledName> buffer;  // not cleared: most names are short
    bool cut = false;
    const auto size = run(demangler, mangled.c_str(), buffer.data(), cut);
    if (!size || *size == 0) return std::nullopt;
    std::string text(buffer.data(), *size);
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

// Every Rust name of the old kind has it; most C++ names do not, and need not be tried twice.
bool maybe_rust(std::string_view name) { return name.starts_with("_R") || name.contains("17h"); }

std::string demangled_or_same(std::string_view name) {
    std::string whole(name);
    if (maybe_rust(name)) {
        if (auto rust = demangle_with(rust_demangle_callback, whole)) {
            return *rust + whole.substr(rust_suffix(name));
        }
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

void append_plain(std::string_view name, std::string& to) {
    if (plain_text(name))
        to += name;
    else
        to += escape(name);
}

// At most kMaxDemangledName of it.
void append_cut(std::string_view name, std::string& to) {
    if (name.size() <= kMaxDemangledName) return append_plain(name, to);
    append_plain(std::string(name.substr(0, kMaxDemangledName - 1)) + '~', to);
}

}  // namespace

void append_name(std::string_view linker_name, NameForm form, std::string& to) {
    const bool too_long = linker_name.size() > kMaxMangledName;
    const auto bare = too_long ? linker_name : linker_name.substr(0, linker_name.find('@', 1));
    if (!is_mangled(bare))
        append_cut(bare, to);
    else if (form == NameForm::kLinker)
        to += bare;
    else
        append_cut(too_long ? std::string(bare) : demangled_or_same(bare), to);
}

std::string display_name(std::string_view linker_name) {
    std::string name;
    append_name(linker_name, NameForm::kShown, name);
    return name;
}

}  // namespace perfvigil::analyzer
