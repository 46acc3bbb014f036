// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/plt_symbols.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <unordered_map>

#include "analyzer/symbols/child/elf_sections.hpp"
#include "analyzer/symbols/child/plt_stubs.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr SectionLimits kMaxStubBytes{.bytes = 16U << 20};

class Search {
public:
    Search(Elf* elf, const GElf_Ehdr& header, const ElfLimits& limits, ElfSymbols& out, std::deque<std::string>& names)
        : elf_(elf), header_(header), limits_(limits), out_(out), made_names_(names) {}

    void run() {
        std::size_t names_index = 0;
        if (elf_getshdrstrndx(elf_, &names_index) != 0) return;
        GElf_Shdr shdr;
        Elf_Scn* names = elf_getscn(elf_, names_index);
        if (names == nullptr || gelf_getshdr(names, &shdr) == nullptr) return;
        section_names_ = bytes_of(section_data(names, shdr, kMaxStubBytes));
        for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn != nullptr; scn = elf_nextscn(elf_, scn)) {
            if (gelf_getshdr(scn, &shdr) != nullptr) find_stubs(scn, shdr);
        }
        if (stubs_.empty()) return;
        std::ranges::sort(stubs_, {}, &PltStub::slot);
        for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn != nullptr; scn = elf_nextscn(elf_, scn)) {
            if (gelf_getshdr(scn, &shdr) != nullptr) read_relocations(scn, shdr);
        }
        name_resolved();
    }

private:
    void find_stubs(Elf_Scn* scn, const GElf_Shdr& shdr) {
        const auto name = text_at(section_names_, shdr.sh_name);
        const bool plt = name == ".plt" || name.starts_with(".plt.") || name == ".iplt";
        if (!plt || (shdr.sh_flags & SHF_EXECINSTR) == 0) return;
        const Bytes code = bytes_of(section_data(scn, shdr, kMaxStubBytes));
        const auto found =
            find_plt_stubs({.code = code, .address = shdr.sh_addr, .machine = header_.e_machine, .got = got()});
        stubs_.insert(stubs_.end(), found.begin(), found.end());
    }

    // What position independent stubs of i386 find in %ebx: the address of .got.plt, else of .got.
    std::uint64_t got() {
        std::uint64_t got = 0;
        GElf_Shdr shdr;
        for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn != nullptr; scn = elf_nextscn(elf_, scn)) {
            if (gelf_getshdr(scn, &shdr) == nullptr) continue;
            const auto name = text_at(section_names_, shdr.sh_name);
            if (name == ".got.plt" || (name == ".got" && got == 0)) got = shdr.sh_addr;
        }
        return got;
    }

    void read_relocations(Elf_Scn* scn, const GElf_Shdr& shdr) {
        if ((shdr.sh_type != SHT_RELA && shdr.sh_type != SHT_REL) || (shdr.sh_flags & SHF_ALLOC) == 0) return;
        Elf_Data* data = section_data(scn, shdr, {.bytes = limits_.section_bytes});
        if (data == nullptr) return;
        const bool with_addend = shdr.sh_type == SHT_RELA;
        const auto entry = gelf_fsize(elf_, with_addend ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
        if (entry == 0) return;
        const auto count = std::min<std::size_t>(data->d_size / entry, std::numeric_limits<int>::max());
        const Symbols symbols = symbols_of(shdr.sh_link);
        for (int i = 0; i < static_cast<int>(count); ++i) {
            GElf_Rela relocation{};
            GElf_Rel without{};
            if (with_addend ? gelf_getrela(data, i, &relocation) == nullptr : gelf_getrel(data, i, &without) == nullptr)
                return;
            if (!with_addend) relocation = {.r_offset = without.r_offset, .r_info = without.r_info, .r_addend = 0};
            take(relocation, symbols);
        }
    }

    struct Symbols {
        Elf_Data* table = nullptr;
        Bytes strings;
    };
    Symbols symbols_of(std::size_t section) {
        GElf_Shdr shdr;
        Elf_Scn* scn = elf_getscn(elf_, section);
        if (section == 0 || scn == nullptr || gelf_getshdr(scn, &shdr) == nullptr) return {};
        if (shdr.sh_type != SHT_DYNSYM && shdr.sh_type != SHT_SYMTAB) return {};
        Symbols symbols;
        symbols.table = section_data(scn, shdr, {.bytes = limits_.section_bytes});
        Elf_Scn* strings = elf_getscn(elf_, shdr.sh_link);
        if (strings == nullptr || gelf_getshdr(strings, &shdr) == nullptr) return {};
        symbols.strings = bytes_of(section_data(strings, shdr, {.bytes = limits_.section_bytes}));
        return symbols;
    }

    void take(const GElf_Rela& relocation, const Symbols& symbols) {
        const auto kind = slot_kind(header_.e_machine, static_cast<std::uint32_t>(GELF_R_TYPE(relocation.r_info)));
        if (kind == SlotKind::kOther) return;
        const auto [from, to] = std::ranges::equal_range(stubs_, relocation.r_offset, {}, &PltStub::slot);
        if (from == to) return;
        if (kind == SlotKind::kResolved) {
            const auto resolver = static_cast<std::uint64_t>(relocation.r_addend);
            for (auto stub = from; stub != to; ++stub) resolved_[resolver].push_back(*stub);
            return;
        }
        GElf_Sym symbol;
        const auto index = GELF_R_SYM(relocation.r_info);
        if (symbols.table == nullptr || index == 0 || index > std::numeric_limits<int>::max()) return;
        if (gelf_getsym(symbols.table, static_cast<int>(index), &symbol) == nullptr) return;
        const auto name = text_at(symbols.strings, symbol.st_name);
        if (name.empty()) return;
        for (auto stub = from; stub != to; ++stub) add(*stub, name);
    }

    void name_resolved() {
        if (resolved_.empty()) return;
        std::unordered_map<std::uint64_t, const FunctionSymbol*> best;  // by offset
        for (const auto& [address, stubs] : resolved_) {
            if (const auto* segment = segment_of(address)) best[address - segment->address + segment->offset] = nullptr;
        }
        for (const auto& function : out_.functions) {
            const auto found = best.find(function.start);
            if (found == best.end()) continue;
            if (found->second == nullptr || better_name(function, *found->second)) found->second = &function;
        }
        for (const auto& [address, stubs] : resolved_) {
            const auto* segment = segment_of(address);
            const auto* function = segment == nullptr ? nullptr : best[address - segment->address + segment->offset];
            const auto name = function == nullptr ? made_name(address) : function->name;
            for (const auto& stub : stubs) named_.push_back({stub, name});
        }
        // Only now: `best` points into the functions.
        for (const auto& [stub, name] : named_) add(stub, name);
    }

    std::string_view made_name(std::uint64_t address) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "*ABS*+0x%llx", static_cast<unsigned long long>(address));
        return made_names_.emplace_back(text.data());
    }

    void add(const PltStub& stub, std::string_view name) {
        const auto* segment = segment_of(stub.address);
        if (segment == nullptr || out_.functions.size() >= limits_.functions) return;
        FunctionSymbol symbol;
        symbol.start = stub.address - segment->address + segment->offset;
        symbol.size = std::min(stub.size, segment->size - (stub.address - segment->address));
        symbol.limit = symbol.start + symbol.size;
        symbol.name = name;
        symbol.stub = true;
        if (symbol.start >= segment->offset && symbol.limit >= symbol.start) out_.functions.push_back(symbol);
    }

    [[nodiscard]] const ElfSegment* segment_of(std::uint64_t address) const {
        const auto holds = [&](const ElfSegment& s) { return address >= s.address && address - s.address < s.size; };
        const auto found = std::ranges::find_if(out_.segments, holds);
        return found == out_.segments.end() ? nullptr : &*found;
    }

    Elf* elf_;
    const GElf_Ehdr& header_;
    const ElfLimits& limits_;
    ElfSymbols& out_;
    std::deque<std::string>& made_names_;
    Bytes section_names_;
    std::vector<PltStub> stubs_;                              // by slot, once all are known
    std::map<std::uint64_t, std::vector<PltStub>> resolved_;  // by the address of what resolves them
    std::vector<std::pair<PltStub, std::string_view>> named_;
};

}  // namespace

void add_plt_symbols(Elf* elf, const GElf_Ehdr& header, const ElfLimits& limits, ElfSymbols& out,
                     std::deque<std::string>& made_names) {
    Search(elf, header, limits, out, made_names).run();
}

}  // namespace perfvigil::analyzer
