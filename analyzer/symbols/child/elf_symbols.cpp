// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/elf_symbols.hpp"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <string>

#include <unordered_map>
#include <unordered_set>
#include "analyzer/symbols/child/elf_sections.hpp"
#include "analyzer/symbols/child/plt_symbols.hpp"

#include "base/section_names.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::uint64_t kSmallestPage = 4096;
constexpr SectionLimits kMaxSectionNames{.bytes = 16U << 20};
constexpr SectionLimits kMaxDebugLink{.bytes = 4096};

struct Section {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    bool code = false;
    // Of a module, where `address` is the runtime address; 0: not known.
    std::uint64_t file_offset = 0;
    std::string_view name{};
};

// What the symbols' names are views into.
struct Keeper {
    std::shared_ptr<Elf> elf;
    std::vector<std::byte> embedded;  // the unpacked .gnu_debugdata, which `embedded_elf` reads
    std::shared_ptr<Elf> embedded_elf;
    std::deque<std::string> made_names;
};

std::shared_ptr<Elf> owned(Elf* elf) {
    return {elf, [](Elf* e) { elf_end(e); }};
}

bool read_exactly(int fd, std::uint64_t offset, std::byte* to, std::size_t size) {
    if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - size) return false;
    while (size > 0) {
        const auto got = ::pread(fd, to, size, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        size -= static_cast<std::size_t>(got);
        offset += static_cast<std::uint64_t>(got);
    }
    return true;
}

// Of one Elf: the file itself, or the one embedded in it, which shares its segments.
class Reader {
public:
    Reader(int fd, Elf* elf, const ElfLimits& limits, ElfSymbols& out)
        : fd_(fd), elf_(elf), limits_(limits), out_(out) {}

    bool read_header() {
        if (gelf_getehdr(elf_, &header_) == nullptr) return false;
        swapped_ = (header_.e_ident[EI_DATA] == ELFDATA2LSB) != (std::endian::native == std::endian::little);
        if (limits_.sections) {
            for (const auto& placed : *limits_.sections) placed_.emplace(placed.name, placed.address);
            return header_.e_type == ET_REL;
        }
        return header_.e_type == ET_EXEC || header_.e_type == ET_DYN;
    }

    void read_segments() {
        if (limits_.sections) return;  // a module has none
        std::size_t count = 0;
        if (elf_getphdrnum(elf_, &count) != 0 || count < header_.e_phnum) return damaged();
        for (std::size_t i = 0; i < std::min(count, limits_.segments); ++i) {
            GElf_Phdr phdr;
            if (gelf_getphdr(elf_, static_cast<int>(i), &phdr) == nullptr) return damaged();
            if (phdr.p_type == PT_NOTE && out_.build_id.empty()) read_notes(phdr.p_offset, phdr.p_filesz);
            if (phdr.p_type != PT_LOAD) continue;
            if (limits_.link_addresses) {
                if (phdr.p_memsz == 0) continue;
                out_.segments.push_back({.offset = phdr.p_vaddr, .address = phdr.p_vaddr, .size = phdr.p_memsz});
                continue;
            }
            if (phdr.p_filesz == 0) continue;
            // No page could hold both; in a separate debug file it means that offsets are not those of the code.
            if ((phdr.p_offset ^ phdr.p_vaddr) % kSmallestPage != 0) {
                damaged();
                continue;
            }
            out_.segments.push_back({.offset = phdr.p_offset, .address = phdr.p_vaddr, .size = phdr.p_filesz});
        }
    }

    void read_section_headers() {
        std::size_t count = 0;
        if (elf_getshdrnum(elf_, &count) != 0) return damaged();
        // libelf passes over a table that lies behind the file's end.
        if (count == 0 && header_.e_shoff != 0) return damaged();
        sections_.resize(1);  // section 0 is none
        for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn != nullptr; scn = elf_nextscn(elf_, scn)) {
            GElf_Shdr shdr;
            if (gelf_getshdr(scn, &shdr) == nullptr) return damaged();
            sections_.push_back(
                {.address = shdr.sh_addr, .size = shdr.sh_size, .code = (shdr.sh_flags & SHF_EXECINSTR) != 0});
            if (limits_.sections) place(scn, shdr);
        }
        if (sections_.size() < count) damaged();  // some headers could not be read
        if (limits_.sections) add_placed_segments();
    }

    // `symtab`: how the functions of .symtab count.
    void read_symbol_tables(TableFlag symtab) {
        for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn != nullptr; scn = elf_nextscn(elf_, scn)) {
            GElf_Shdr shdr;
            if (gelf_getshdr(scn, &shdr) == nullptr) return damaged();
            if (shdr.sh_type == SHT_SYMTAB) read_symbols(scn, shdr, symtab);
            if (shdr.sh_type == SHT_DYNSYM) read_symbols(scn, shdr, kTableDynsym);
        }
    }

    void read_debug_link() {
        const auto section = find_section(".gnu_debuglink", kMaxDebugLink);
        if (!section) return;
        const auto link = parse_debug_link(bytes_of(*section), swapped_ ? Endian::kSwapped : Endian::kNative);
        if (!link) return damaged();
        out_.debug_link = *link;
    }

    // The unpacked .gnu_debugdata; empty where there is none.
    std::vector<std::byte> read_debug_data() {
        const auto section = find_section(".gnu_debugdata", {.bytes = limits_.section_bytes});
        if (!section) return {};
        auto unpacked = unpack_debug_data(bytes_of(*section), limits_.embedded_bytes);
        if (!unpacked) damaged();
        return unpacked ? std::move(*unpacked) : std::vector<std::byte>{};
    }

    [[nodiscard]] const GElf_Ehdr& header() const { return header_; }

private:
    void damaged() { out_.flags |= kTableDamaged; }

    // The section just put into sections_, of a module: does the loader's list have it?
    void place(Elf_Scn* scn, const GElf_Shdr& shdr) {
        if (shdr.sh_type == SHT_NOTE && out_.build_id.empty()) read_notes(shdr.sh_offset, shdr.sh_size);
        Section& section = sections_.back();
        section.address = 0;
        std::size_t names = 0;
        const char* name = elf_getshdrstrndx(elf_, &names) == 0 ? elf_strptr(elf_, names, shdr.sh_name) : nullptr;
        const bool in_file = shdr.sh_type == SHT_PROGBITS && (shdr.sh_flags & SHF_ALLOC) != 0;
        if (!section.code || name == nullptr || !in_file || elf_ndxscn(scn) != sections_.size() - 1) return;
        if (is_section_of_one_function(name)) ++out_.split_sections;
        if (!named_.insert(name).second) return (void)ambiguous_.insert(name);
        if (const auto placed = placed_.find(name); placed != placed_.end()) section.address = placed->second;
        section.file_offset = shdr.sh_offset;
        section.name = name;
    }

    void add_placed_segments() {
        for (Section& section : sections_) {
            if (ambiguous_.contains(section.name)) section.address = 0;
            if (section.address == 0 || out_.segments.size() == kMaxModuleSections) continue;
            out_.segments.push_back({.offset = section.address, .address = section.file_offset, .size = section.size});
        }
    }

    void read_notes(std::uint64_t offset, std::uint64_t all) {
        const auto size = std::min<std::uint64_t>(all, limits_.note_bytes);
        std::vector<std::byte> notes(static_cast<std::size_t>(size));
        if (!read_exactly(fd_, offset, notes.data(), notes.size())) return damaged();
        out_.build_id = build_id_from_notes(notes, swapped_ ? Endian::kSwapped : Endian::kNative);
    }

    Elf_Data* data_of(Elf_Scn* scn, const GElf_Shdr& shdr) {
        return section_data(scn, shdr, {.bytes = limits_.section_bytes});
    }

    // nullopt: no such section; nullptr: it is there but cannot be read.
    std::optional<Elf_Data*> find_section(std::string_view wanted, const SectionLimits& limits) {
        std::size_t names_index = 0;
        if (elf_getshdrstrndx(elf_, &names_index) != 0) return std::nullopt;
        Elf_Scn* names_scn = elf_getscn(elf_, names_index);
        GElf_Shdr shdr;
        if (names_scn == nullptr || gelf_getshdr(names_scn, &shdr) == nullptr) return std::nullopt;
        const Bytes names = bytes_of(section_data(names_scn, shdr, kMaxSectionNames));
        for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn != nullptr; scn = elf_nextscn(elf_, scn)) {
            if (gelf_getshdr(scn, &shdr) == nullptr || text_at(names, shdr.sh_name) != wanted) continue;
            // A separate debug file keeps headers of sections that it does not hold.
            if (shdr.sh_type == SHT_NOBITS) return std::nullopt;
            return section_data(scn, shdr, limits);
        }
        return std::nullopt;
    }

    void read_symbols(Elf_Scn* scn, const GElf_Shdr& shdr, TableFlag kind) {
        Elf_Scn* strings_scn = elf_getscn(elf_, shdr.sh_link);
        GElf_Shdr strings_shdr;
        if (strings_scn == nullptr || gelf_getshdr(strings_scn, &strings_shdr) == nullptr) return damaged();
        Elf_Data* symbols = data_of(scn, shdr);
        Elf_Data* strings = data_of(strings_scn, strings_shdr);
        if (symbols == nullptr || strings == nullptr) return damaged();
        // gelf_getsym bounds the index by d_size itself and takes an int.
        const auto entry = gelf_fsize(elf_, ELF_T_SYM, 1, EV_CURRENT);
        if (entry == 0) return damaged();
        const auto count = std::min<std::size_t>(symbols->d_size / entry, std::numeric_limits<int>::max());
        const std::string_view names(static_cast<const char*>(strings->d_buf), strings->d_size);
        out_.flags |= kind;
        for (std::size_t i = 0; i < count; ++i) {
            GElf_Sym sym;
            if (gelf_getsym(symbols, static_cast<int>(i), &sym) == nullptr) return damaged();
            if (out_.functions.size() >= limits_.functions) {
                out_.flags |= kTableCut;
                return;
            }
            add(sym, names);
        }
    }

    void add(const GElf_Sym& sym, std::string_view names) {
        const auto type = GELF_ST_TYPE(sym.st_info);
        const bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
        if ((!function && type != STT_NOTYPE) || sym.st_shndx == SHN_UNDEF || sym.st_name >= names.size()) return;
        auto name = names.substr(sym.st_name);
        name = name.substr(0, name.find('\0'));
        // "$x", "$t", "$d": marks of the ARM and RISC-V assemblers.
        if (name.empty() || (!function && name.front() == '$')) return;
        note_bounds(name, sym.st_value);
        if (limits_.sections) return add_of_module(sym, name, function);

        auto value = sym.st_value;
        if (header_.e_machine == EM_ARM && function) value &= ~std::uint64_t{1};  // Thumb
        const Section* section = nullptr;
        if (sym.st_shndx < SHN_LORESERVE && sym.st_shndx < sections_.size()) section = &sections_[sym.st_shndx];
        const bool inside = section != nullptr && value >= section->address && value - section->address < section->size;
        if (!function && (!inside || !section->code)) return;

        const ElfSegment* segment = segment_of(value);
        if (segment == nullptr) return;
        const auto left = segment->size - (value - segment->address);
        FunctionSymbol symbol;
        symbol.start = value - segment->address + segment->offset;
        if (symbol.start < segment->offset) return;  // the offset itself overflowed
        symbol.size = std::min(sym.st_size, left);
        symbol.limit = symbol.start + std::min(left, inside ? section->size - (value - section->address) : left);
        if (symbol.limit < symbol.start) return;
        symbol.name = name;
        symbol.weak = GELF_ST_BIND(sym.st_info) == STB_WEAK;
        symbol.global = GELF_ST_BIND(sym.st_info) == STB_GLOBAL;
        symbol.label = !function;
        out_.functions.push_back(symbol);
    }

    // A kernel image's own marks; in other files these names mean nothing to anybody.
    void note_bounds(std::string_view name, std::uint64_t value) {
        if (name == "_text") out_.bounds.text = value;
        if (name == "_stext") out_.bounds.stext = value;
        if (name == "_etext") out_.bounds.etext = value;
    }

    void add_of_module(const GElf_Sym& sym, std::string_view name, bool function) {
        if (sym.st_shndx >= SHN_LORESERVE || sym.st_shndx >= sections_.size()) return;
        const Section& section = sections_[sym.st_shndx];
        if (!section.code || section.address == 0 || sym.st_value >= section.size) return;
        FunctionSymbol symbol;
        symbol.start = section.address + sym.st_value;
        symbol.limit = section.address + section.size;
        if (symbol.start < section.address || symbol.limit < symbol.start) return;
        symbol.size = std::min(sym.st_size, symbol.limit - symbol.start);
        // Code in the padding before a function (call thunks) is the function's, as with kallsyms.
        for (const std::string_view padding : {"__pfx_", "__cfi_"}) {
            if (name.starts_with(padding)) name.remove_prefix(padding.size());
        }
        symbol.name = name;
        symbol.weak = GELF_ST_BIND(sym.st_info) == STB_WEAK;
        symbol.global = GELF_ST_BIND(sym.st_info) == STB_GLOBAL;
        symbol.label = !function;
        out_.functions.push_back(symbol);
    }

    [[nodiscard]] const ElfSegment* segment_of(std::uint64_t address) const {
        const auto holds = [&](const ElfSegment& s) { return address >= s.address && address - s.address < s.size; };
        const auto found = std::ranges::find_if(out_.segments, holds);
        return found == out_.segments.end() ? nullptr : &*found;
    }

    int fd_;
    Elf* elf_;
    const ElfLimits& limits_;
    ElfSymbols& out_;
    GElf_Ehdr header_{};
    std::vector<Section> sections_;
    std::unordered_map<std::string_view, std::uint64_t> placed_;
    std::unordered_set<std::string_view> named_;  // of a module: names of its sections of code
    std::unordered_set<std::string_view> ambiguous_;
    bool swapped_ = false;
};

bool has_elf_magic(int fd) {
    std::array<std::byte, SELFMAG> magic{};
    return read_exactly(fd, 0, magic.data(), magic.size()) && std::memcmp(magic.data(), ELFMAG, SELFMAG) == 0;
}

// The symbols that a stripped file carries along, packed (.gnu_debugdata). Their addresses are those of the file.
void read_embedded(Reader& reader, const ElfLimits& limits, Keeper& keeper, ElfSymbols& out) {
    keeper.embedded = reader.read_debug_data();
    if (keeper.embedded.empty()) return;
    keeper.embedded_elf = owned(elf_memory(reinterpret_cast<char*>(keeper.embedded.data()), keeper.embedded.size()));
    Reader embedded(-1, keeper.embedded_elf.get(), limits, out);
    if (keeper.embedded_elf == nullptr || !embedded.read_header()) {
        out.flags |= kTableDamaged;
        return;
    }
    embedded.read_section_headers();
    embedded.read_symbol_tables(kTableMini);
}

}  // namespace

ElfSymbols read_elf_symbols(int fd, const ElfLimits& limits) {
    ElfSymbols out;
    if (!has_elf_magic(fd)) return out;
    out.state = FileState::kDamaged;
    if (elf_version(EV_CURRENT) == EV_NONE) return out;
    const auto keeper = std::make_shared<Keeper>();
    // ELF_C_READ, not ELF_C_READ_MMAP: libelf then fetches every header and section by pread.
    keeper->elf = owned(elf_begin(fd, ELF_C_READ, nullptr));
    if (keeper->elf == nullptr || elf_kind(keeper->elf.get()) != ELF_K_ELF) return out;
    out.keeps_names = keeper;

    Reader reader(fd, keeper->elf.get(), limits, out);
    if (!reader.read_header()) return out;
    reader.read_segments();
    reader.read_section_headers();
    reader.read_symbol_tables(kTableSymtab);
    reader.read_debug_link();
    const bool module = limits.sections.has_value();  // relocatable: it has neither of these
    if (!module && (out.flags & kTableSymtab) == 0) read_embedded(reader, limits, *keeper, out);
    if (!module && !limits.link_addresses)
        add_plt_symbols(keeper->elf.get(), reader.header(), limits, out, keeper->made_names);
    if (!out.functions.empty())
        out.state = FileState::kFunctions;
    else if ((out.flags & kTableDamaged) == 0)
        out.state = FileState::kStripped;
    return out;
}

}  // namespace perfvigil::analyzer
