// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/elf_image.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "base/bytes.hpp"

namespace perfvigil::test {
namespace {

constexpr std::uint64_t kHeadersSize = 0x200;

struct Section {
    std::string name;
    std::uint32_t type = SHT_NULL;
    std::uint64_t flags = 0;
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint32_t link = 0;
    std::uint64_t entry = 0;
};

class Image {
public:
    explicit Image(const ElfImageSpec& spec)
        : spec_(spec), swap_(spec.big_endian == (std::endian::native == std::endian::little)) {
        out_.resize(kHeadersSize);
    }

    std::vector<std::byte> build() {
        place_notes();
        if (!spec_.debug_file) {
            out_.resize(std::max<std::size_t>(out_.size(), spec_.text_offset + spec_.text_size), std::byte{0x90});
        }
        sections_.resize(1);
        const std::uint32_t text_type = spec_.debug_file ? SHT_NOBITS : SHT_PROGBITS;
        sections_.push_back({".text", text_type, SHF_ALLOC | SHF_EXECINSTR, spec_.text_address, spec_.text_offset,
                             spec_.text_size, 0, 0});
        sections_.push_back({".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x800000, out_.size(), 0x100, 0, 0});
        out_.resize(out_.size() + 0x100);
        if (spec_.with_symtab) add_symbols(".symtab", SHT_SYMTAB, ".strtab", spec_.symtab);
        if (spec_.with_dynsym) add_symbols(".dynsym", SHT_DYNSYM, ".dynstr", spec_.dynsym);
        for (const auto& section : spec_.more)
            add_section({section.name, SHT_PROGBITS, 0, 0, 0, 0, 0, 0}, section.bytes);
        add_section_names();
        const auto headers_at = out_.size();
        for (const auto& section : sections_) write_section(section);
        write_header(headers_at);
        write_segments();
        return std::move(out_);
    }

private:
    template <class T>
    T ordered(T value) const {
        return swap_ ? byte_swap(value) : value;
    }
    void u16(std::vector<std::byte>& to, std::uint16_t v) const { ByteWriter(to).u16(ordered(v)); }
    void u32(std::vector<std::byte>& to, std::uint32_t v) const { ByteWriter(to).u32(ordered(v)); }
    void word(std::vector<std::byte>& to, std::uint64_t v) const {
        if (spec_.wide)
            ByteWriter(to).u64(ordered(v));
        else
            u32(to, static_cast<std::uint32_t>(v));
    }
    void put(std::size_t at, const std::vector<std::byte>& bytes) {
        std::memcpy(out_.data() + at, bytes.data(), bytes.size());
    }

    void place_notes() {
        if (spec_.build_id.empty()) return;
        std::vector<std::byte> note;
        u32(note, 4);
        u32(note, static_cast<std::uint32_t>(spec_.build_id.bytes().size()));
        u32(note, NT_GNU_BUILD_ID);
        ByteWriter writer(note);
        writer.padded_text("GNU", 4, 0);
        writer.bytes(spec_.build_id.bytes());
        note_size_ = note.size();
        note_at_ = kHeadersSize;
        out_.insert(out_.end(), note.begin(), note.end());
        out_.resize((out_.size() + 7) & ~std::size_t{7});
    }

    void add_symbols(const char* name, std::uint32_t type, const char* strings_name,
                     const std::vector<ElfSymbolSpec>& symbols) {
        std::string strings(1, '\0');
        std::vector<std::byte> table(spec_.wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
        for (const auto& symbol : symbols) {
            const auto at = static_cast<std::uint32_t>(strings.size());
            strings += symbol.name + '\0';
            const auto info = static_cast<std::uint8_t>((symbol.bind << 4U) | symbol.type);
            u32(table, at);
            if (!spec_.wide) {
                word(table, symbol.value);
                word(table, symbol.size);
            }
            ByteWriter(table).u8(info);
            ByteWriter(table).u8(0);
            u16(table, symbol.section);
            if (spec_.wide) {
                word(table, symbol.value);
                word(table, symbol.size);
            }
        }
        const auto link = static_cast<std::uint32_t>(sections_.size() + 1);
        add_section({name, type, 0, 0, 0, 0, link, spec_.wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)}, table);
        add_section({strings_name, SHT_STRTAB, 0, 0, 0, 0, 0, 0}, std::as_bytes(std::span(strings)));
    }

    void add_section(Section section, Bytes bytes) {
        out_.resize((out_.size() + 7) & ~std::size_t{7});
        section.offset = out_.size();
        section.size = bytes.size();
        out_.insert(out_.end(), bytes.begin(), bytes.end());
        sections_.push_back(std::move(section));
    }

    void add_section_names() {
        std::string names;
        sections_.push_back({".shstrtab", SHT_STRTAB, 0, 0, 0, 0, 0, 0});
        for (const auto& section : sections_) {
            name_at_.push_back(static_cast<std::uint32_t>(names.size()));
            names += section.name + '\0';
        }
        sections_.back().offset = out_.size();
        sections_.back().size = names.size();
        const auto bytes = std::as_bytes(std::span(names));
        out_.insert(out_.end(), bytes.begin(), bytes.end());
        out_.resize((out_.size() + 7) & ~std::size_t{7});
    }

    void write_section(const Section& section) {
        u32(out_, name_at_[written_++]);
        u32(out_, section.type);
        word(out_, section.flags);
        word(out_, section.address);
        word(out_, section.offset);
        word(out_, section.size);
        u32(out_, section.link);
        u32(out_, section.type == SHT_SYMTAB || section.type == SHT_DYNSYM ? 1 : 0);
        word(out_, 8);
        word(out_, section.entry);
    }

    void write_header(std::uint64_t sections_at) {
        std::vector<std::byte> header;
        ByteWriter writer(header);
        writer.text(std::string_view(ELFMAG, SELFMAG));
        writer.u8(spec_.wide ? ELFCLASS64 : ELFCLASS32);
        writer.u8(spec_.big_endian ? ELFDATA2MSB : ELFDATA2LSB);
        writer.u8(EV_CURRENT);
        writer.zeros(EI_NIDENT - header.size());
        u16(header, spec_.type);
        u16(header, spec_.machine);
        u32(header, EV_CURRENT);
        word(header, spec_.text_address);
        word(header, spec_.wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
        word(header, sections_at);
        u32(header, 0);
        u16(header, spec_.wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
        u16(header, spec_.wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
        u16(header, spec_.build_id.empty() ? 2 : 3);
        u16(header, spec_.wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
        u16(header, static_cast<std::uint16_t>(sections_.size()));
        u16(header, static_cast<std::uint16_t>(sections_.size() - 1));
        put(0, header);
    }

    void write_segment(std::vector<std::byte>& to, std::uint32_t type, std::uint32_t flags, std::uint64_t offset,
                       std::uint64_t address, std::uint64_t size, bool in_file = true) const {
        u32(to, type);
        if (spec_.wide) u32(to, flags);
        word(to, offset);
        word(to, address);
        word(to, address);
        word(to, in_file ? size : 0);
        word(to, size);
        if (!spec_.wide) u32(to, flags);
        word(to, type == PT_LOAD ? 0x1000 : 4);
    }

    void write_segments() {
        std::vector<std::byte> segments;
        write_segment(segments, PT_LOAD, PF_R, 0, 0, kHeadersSize);
        const bool rewritten = spec_.debug_file && !spec_.offsets_kept;
        write_segment(segments, PT_LOAD, PF_R | PF_X, rewritten ? 0 : spec_.text_offset, spec_.text_address,
                      spec_.text_size, !rewritten);
        if (!spec_.build_id.empty()) write_segment(segments, PT_NOTE, PF_R, note_at_, note_at_, note_size_);
        put(spec_.wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr), segments);
    }

    const ElfImageSpec& spec_;
    bool swap_;
    std::vector<std::byte> out_;
    std::vector<Section> sections_;
    std::vector<std::uint32_t> name_at_;
    std::size_t written_ = 0;
    std::uint64_t note_at_ = 0;
    std::uint64_t note_size_ = 0;
};

}  // namespace

std::vector<std::byte> make_elf(const ElfImageSpec& spec) { return Image(spec).build(); }

BuildId build_id_of(std::string_view hex) {
    const auto id = BuildId::from_hex(hex);
    if (!id) throw std::invalid_argument("not a build-id: " + std::string(hex));
    return *id;
}

}  // namespace perfvigil::test
