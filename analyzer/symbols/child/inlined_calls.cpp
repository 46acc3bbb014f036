// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/inlined_calls.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <libelf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyzer/symbols/child/asked_addresses.hpp"
#include "analyzer/symbols/child/demangle.hpp"
#include "analyzer/symbols/child/module_dwarf.hpp"
#include "analyzer/symbols/child/name_numbers.hpp"
#include "analyzer/symbols/child/placed_sections.hpp"
#include "analyzer/symbols/inlined_format.hpp"
#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kLongestText = 4096;
constexpr unsigned kDeepestNesting = 512;  // of blocks, namespaces, functions; real code has tens

using Positions = std::vector<std::size_t>;  // of addresses, ascending

std::string_view text_of(const char* text) { return {text, ::strnlen(text, kLongestText)}; }

// One function around an address, and where it was called if it was inlined.
struct Scope {
    std::uint32_t function = 0;
    std::uint32_t call_file = 0;
    std::uint32_t call_line = 0;
};

class InlinedSearch {
public:
    InlinedSearch(const std::vector<std::uint64_t>& addresses, InlinedCalls& out)
        : addresses_(addresses), out_(out), scopes_(addresses.size()), lines_(addresses.size()) {}

    void run(Dwarf* dwarf) {
        Dwarf_CU* unit = nullptr;
        Dwarf_Die die;
        Dwarf_Die split;
        std::uint8_t type = 0;
        while (dwarf_get_units(dwarf, unit, &unit, nullptr, &type, &die, &split) == 0) {
            out_.flags |= kInlinedDebugInfo;
            Positions all(addresses_.size());
            for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
            const Positions inside = covered(die, all);
            if (inside.empty()) continue;
            if (type == DW_UT_skeleton) note_split(die);
            if (dwarf_getsrcfiles(&die, &files_, &file_count_) != 0) file_count_ = 0;
            for (const auto position : inside) read_line(die, position);
            visit(die, inside, 0, 0);
        }
    }

    void write() {
        for (std::size_t i = 0; i < addresses_.size(); ++i) {
            const std::size_t before = out_.frames.size();
            if (before < kMaxInlinedFrames) add_frames(scopes_[i], lines_[i]);
            out_.counts.push_back(static_cast<std::uint32_t>(out_.frames.size() - before));
        }
        out_.names = names_.take();
    }

private:
    struct Line {
        std::uint32_t file = 0;
        std::uint32_t line = 0;
    };

    void note_split(Dwarf_Die& unit) {
        out_.flags |= kInlinedSplit;
        if (out_.split_units++ >= kMaxSplitNames) return;
        Dwarf_Attribute attribute;
        const auto text = [&](unsigned kind) {
            const char* found = dwarf_formstring(dwarf_attr(&unit, kind, &attribute));
            return found == nullptr ? std::string() : escape(text_of(found));
        };
        auto name = text(DW_AT_dwo_name);
        if (name.empty()) name = text(DW_AT_GNU_dwo_name);
        const auto folder = text(DW_AT_comp_dir);
        if (!name.starts_with('/') && !folder.empty()) name = folder + '/' + name;
        out_.split_files.push_back(std::move(name));
    }

    // Each function is left where the next inner one was called.
    void add_frames(const std::vector<Scope>& scopes, Line line) {
        if (scopes.empty() && line.file == 0) return;
        if (scopes.empty()) return out_.frames.push_back({.function = 0, .file = line.file, .line = line.line});
        for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
            out_.frames.push_back({.function = scope->function, .file = line.file, .line = line.line});
            line = {.file = scope->call_file, .line = scope->call_line};
        }
    }

    [[nodiscard]] Positions covered(Dwarf_Die& die, const Positions& wanted) const {
        Positions inside;
        std::ptrdiff_t at = 0;
        Dwarf_Addr base = 0;
        Dwarf_Addr begin = 0;
        Dwarf_Addr end = 0;
        const auto address_at = [&](std::size_t position) { return addresses_[position]; };
        while ((at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0) {
            auto first = std::ranges::lower_bound(wanted, begin, {}, address_at);
            for (; first != wanted.end() && address_at(*first) < end; ++first) inside.push_back(*first);
        }
        // Ranges may come in any order, and overlap where a file lies.
        std::ranges::sort(inside);
        inside.erase(std::ranges::unique(inside).begin(), inside.end());
        return inside;
    }

    void read_line(Dwarf_Die& unit, std::size_t position) {
        Line& known = lines_[position];
        if (known.file != 0) return;
        Dwarf_Line* line = dwarf_getsrc_die(&unit, addresses_[position]);
        if (line == nullptr) return;
        int number = 0;
        const char* file = dwarf_linesrc(line, nullptr, nullptr);
        // Line 0: the compiler's own code, from no line.
        if (file == nullptr || dwarf_lineno(line, &number) != 0 || number <= 0) return;
        known = {.file = text_number(file), .line = static_cast<std::uint32_t>(number)};
    }

    // `depth`: functions around the children of `die`, which the scopes of `wanted` hold already.
    void visit(Dwarf_Die& die, const Positions& wanted, std::size_t depth, unsigned nesting) {
        if (nesting > kDeepestNesting || wanted.empty()) return;
        Dwarf_Die child;
        if (dwarf_child(&die, &child) != 0) return;
        do {
            switch (dwarf_tag(&child)) {
                case DW_TAG_subprogram: enter(child, wanted, depth, 0, nesting); break;
                case DW_TAG_inlined_subroutine: enter(child, wanted, depth, depth, nesting); break;
                case DW_TAG_lexical_block:
                case DW_TAG_try_block:
                case DW_TAG_catch_block:
                case DW_TAG_with_stmt: visit(child, covered(child, wanted), depth, nesting + 1); break;
                case DW_TAG_namespace:
                case DW_TAG_module:
                case DW_TAG_structure_type:
                case DW_TAG_class_type:
                case DW_TAG_union_type: visit(child, wanted, depth, nesting + 1); break;
                default: break;
            }
        } while (dwarf_siblingof(&child, &child) == 0);
    }

    // `around`: functions around it; `kept`: those of them that its code is a part of, none for a function that was
    // compiled for itself inside another one.
    void enter(Dwarf_Die& die, const Positions& wanted, std::size_t around, std::size_t kept, unsigned nesting) {
        if (kept >= kMaxInlinedDepth) return;
        Positions inside = covered(die, wanted);
        // An address that a sibling holds already stays with that one.
        std::erase_if(inside, [&](std::size_t position) { return scopes_[position].size() != around; });
        if (inside.empty()) return;
        const Scope scope = scope_of(die);
        for (const auto position : inside) {
            scopes_[position].resize(kept);
            scopes_[position].push_back(scope);
        }
        visit(die, inside, kept + 1, nesting + 1);
    }

    [[nodiscard]] Scope scope_of(Dwarf_Die& die) {
        Scope scope{.function = function_name(die)};
        Dwarf_Attribute attribute;
        Dwarf_Word number = 0;
        if (dwarf_formudata(dwarf_attr(&die, DW_AT_call_line, &attribute), &number) == 0 && number <= UINT32_MAX) {
            scope.call_line = static_cast<std::uint32_t>(number);
        }
        if (scope.call_line == 0) return scope;
        if (dwarf_formudata(dwarf_attr(&die, DW_AT_call_file, &attribute), &number) == 0 && number < file_count_) {
            const char* file = dwarf_filesrc(files_, number, nullptr, nullptr);
            if (file != nullptr) scope.call_file = text_number(file);
        }
        return scope;
    }

    std::uint32_t function_name(Dwarf_Die& die) {
        Dwarf_Attribute attribute;
        for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
            const char* name = dwarf_formstring(dwarf_attr_integrate(&die, kind, &attribute));
            if (name == nullptr || *name == '\0') continue;
            // One string of the file is one address here.
            const auto [known, added] = functions_.try_emplace(name, 0);
            if (added) known->second = names_.number_of(display_name(std::string_view(name, ::strlen(name)))) + 1;
            return known->second;
        }
        return 0;
    }

    std::uint32_t text_number(const char* text) {
        const auto [known, added] = texts_.try_emplace(text, 0);
        if (added) known->second = names_.number_of(escape(text_of(text))) + 1;
        return known->second;
    }

    const std::vector<std::uint64_t>& addresses_;
    InlinedCalls& out_;
    std::vector<std::vector<Scope>> scopes_;  // outermost first
    std::vector<Line> lines_;
    NameNumbers names_;
    std::unordered_map<const void*, std::uint32_t> functions_;
    std::unordered_map<const void*, std::uint32_t> texts_;
    Dwarf_Files* files_ = nullptr;  // of the unit at hand
    std::size_t file_count_ = 0;
};

using ElfHandle = std::unique_ptr<Elf, int (*)(Elf*)>;
using DwarfHandle = std::unique_ptr<Dwarf, int (*)(Dwarf*)>;

// ELF_C_READ: by pread, never mapped (elf_symbols.hpp).
ElfHandle open_elf(int fd) { return {fd < 0 ? nullptr : elf_begin(fd, ELF_C_READ, nullptr), elf_end}; }
DwarfHandle open_dwarf(const ElfHandle& elf) {
    const bool is_elf = elf != nullptr && elf_kind(elf.get()) == ELF_K_ELF;
    return {is_elf ? dwarf_begin_elf(elf.get(), DWARF_C_READ, nullptr) : nullptr, dwarf_end};
}

void search(Dwarf* dwarf, const std::vector<std::uint64_t>& addresses, InlinedCalls& out) {
    InlinedSearch search(addresses, out);
    if (dwarf != nullptr) search.run(dwarf);
    search.write();
}

Result<void> write_calls(int question, const InlinedCalls& found, std::uint64_t max_bytes) {
    std::vector<std::string_view> strings(found.names.begin(), found.names.end());
    strings.insert(strings.end(), found.split_files.begin(), found.split_files.end());
    std::size_t names_size = 0;
    for (const auto name : strings) names_size += name.size();
    const auto size = found.counts.size() * sizeof(std::uint32_t) + found.frames.size() * kInlinedFrameSize +
                      strings.size() * sizeof(std::uint32_t) + names_size;
    if (size > std::min<std::uint64_t>(max_bytes, UINT32_MAX)) {
        return fail(ErrorCode::kExhausted, "inlined calls over their limit");
    }
    std::vector<std::byte> answer;
    ByteWriter writer(answer);
    writer.u32(kInlinedMagic);
    writer.u32(kInlinedVersion);
    for (const auto count : {found.counts.size(), found.frames.size(), strings.size()}) {
        writer.u32(static_cast<std::uint32_t>(count));
    }
    writer.u32(found.flags);
    writer.u32(static_cast<std::uint32_t>(names_size));
    writer.u32(static_cast<std::uint32_t>(found.alt.bytes().size()));
    std::array<std::byte, BuildId::kMaxSize> id{};
    std::ranges::copy(found.alt.bytes(), id.begin());
    writer.bytes(id);
    writer.u32(found.split_units);
    writer.u32(static_cast<std::uint32_t>(found.split_files.size()));
    for (const auto count : found.counts) writer.u32(count);
    for (const auto& frame : found.frames) {
        writer.u32(frame.function);
        writer.u32(frame.file);
        writer.u32(frame.line);
    }
    std::uint32_t end = 0;
    for (const auto name : strings) writer.u32(end += static_cast<std::uint32_t>(name.size()));
    for (const auto name : strings) writer.bytes(std::as_bytes(std::span(name)));
    return write_all(question, answer);
}

}  // namespace

InlinedCalls read_inlined_calls(int fd, int alt_fd, const std::vector<std::uint64_t>& addresses) {
    InlinedCalls out;
    if (elf_version(EV_CURRENT) == EV_NONE) return out;
    const ElfHandle elf = open_elf(fd);
    const ElfHandle alt_elf = open_elf(alt_fd);
    const DwarfHandle alt = open_dwarf(alt_elf);  // outlives `dwarf`, which looks into it
    const DwarfHandle dwarf = open_dwarf(elf);
    if (dwarf != nullptr) {
        const char* path = nullptr;
        const void* id = nullptr;
        const auto size = dwelf_dwarf_gnu_debugaltlink(dwarf.get(), &path, &id);
        if (size > 0) out.alt = BuildId(Bytes(static_cast<const std::byte*>(id), static_cast<std::size_t>(size)));
        if (alt != nullptr) dwarf_setalt(dwarf.get(), alt.get());
        if (size > 0 && alt == nullptr) out.flags |= kInlinedAltMissing;
    }
    search(dwarf.get(), addresses, out);
    return out;
}

InlinedCalls read_module_calls(int fd, const std::vector<PlacedSection>& sections,
                               const std::vector<std::uint64_t>& addresses) {
    InlinedCalls out;
    const ModuleDwarf module(fd, sections);
    search(module.dwarf(), addresses, out);
    return out;
}

Result<void> answer_inlined(int question, int file, int alt, std::uint64_t max_bytes) {
    const auto addresses = read_asked_addresses(question);
    if (!addresses) return fail(addresses.error());
    return write_calls(question, read_inlined_calls(file, alt, *addresses), max_bytes);
}

Result<void> answer_inlined_in_module(int question, int file, std::uint64_t max_bytes) {
    const auto placed = read_placed_sections(question);
    if (!placed) return fail(placed.error());
    const auto addresses = read_asked_addresses(question, placed->size);
    if (!addresses) return fail(addresses.error());
    return write_calls(question, read_module_calls(file, placed->sections, *addresses), max_bytes);
}

}  // namespace perfvigil::analyzer
