// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/unwind_sections.hpp"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/fd.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kMostSegments = 256;

class Reader {
public:
    Reader(Elf* elf, std::uint64_t section_bytes, UnwindSections& out)
        : elf_(elf), section_bytes_(section_bytes), out_(out) {}

    bool read_header() {
        GElf_Ehdr header;
        if (gelf_getehdr(elf_, &header) == nullptr) return false;
        const bool native = (header.e_ident[EI_DATA] == ELFDATA2LSB) == (std::endian::native == std::endian::little);
        if (header.e_ident[EI_CLASS] != ELFCLASS64 || !native) return false;
        if (header.e_type != ET_EXEC && header.e_type != ET_DYN) return false;
        if (header.e_machine == EM_X86_64) out_.machine = UnwindMachine::kX86_64;
        if (header.e_machine == EM_AARCH64) out_.machine = UnwindMachine::kArm64;
        return out_.machine != UnwindMachine::kOther;
    }

    void read_segments() {
        std::size_t count = 0;
        if (elf_getphdrnum(elf_, &count) != 0) return damaged();
        for (std::size_t i = 0; i < std::min(count, kMostSegments); ++i) {
            GElf_Phdr phdr;
            if (gelf_getphdr(elf_, static_cast<int>(i), &phdr) == nullptr) return damaged();
            if (phdr.p_type == PT_GNU_EH_FRAME) eh_frame_header_ = phdr;
            if (phdr.p_type != PT_LOAD) continue;
            // Of a separate debug file nothing is in the file, but the addresses are those of the code.
            if (phdr.p_memsz > 0 && (phdr.p_flags & PF_X) != 0 && phdr.p_vaddr + phdr.p_memsz > phdr.p_vaddr) {
                out_.code.push_back({.start = phdr.p_vaddr, .end = phdr.p_vaddr + phdr.p_memsz});
            }
            if (phdr.p_filesz == 0) continue;
            out_.segments.push_back({.offset = phdr.p_offset, .address = phdr.p_vaddr, .size = phdr.p_filesz});
        }
    }

    void read_sections() {
        std::size_t names = 0;
        if (elf_getshdrstrndx(elf_, &names) != 0) return;
        FrameSection debug_frame{.kind = FrameSectionKind::kDebugFrame, .bytes = {}, .address = 0};
        for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn != nullptr; scn = elf_nextscn(elf_, scn)) {
            GElf_Shdr shdr;
            if (gelf_getshdr(scn, &shdr) == nullptr) return damaged();
            if (shdr.sh_type == SHT_NOBITS || shdr.sh_size == 0) continue;
            const char* name = elf_strptr(elf_, names, shdr.sh_name);
            if (name == nullptr) continue;
            if (std::string_view(name) == ".eh_frame") {
                const Bytes bytes = bytes_of(scn, shdr);
                if (!bytes.empty())
                    out_.frames.insert(out_.frames.begin(),
                                       FrameSection{FrameSectionKind::kEhFrame, bytes, shdr.sh_addr});
            } else if (std::string_view(name) == ".debug_frame") {
                debug_frame.bytes = bytes_of(scn, shdr);
            }
        }
        if (!debug_frame.bytes.empty()) out_.frames.push_back(debug_frame);
    }

    // Without section headers the program header of .eh_frame_hdr leads to .eh_frame, which ends in a zero length.
    void read_loaded_frames() {
        const bool found = std::ranges::any_of(
            out_.frames, [](const FrameSection& section) { return section.kind == FrameSectionKind::kEhFrame; });
        if (found || eh_frame_header_.p_filesz == 0) return;
        const auto header = raw(eh_frame_header_.p_offset, std::min<std::uint64_t>(eh_frame_header_.p_filesz, 64));
        const std::uint64_t address = eh_frame_address(header, eh_frame_header_.p_vaddr);
        const auto segment = std::ranges::find_if(
            out_.segments, [&](const ElfSegment& s) { return address >= s.address && address - s.address < s.size; });
        if (address == 0 || segment == out_.segments.end()) return damaged();
        const std::uint64_t inside = address - segment->address;
        const std::uint64_t size = segment->size - inside;
        Bytes bytes = raw(segment->offset + inside, std::min(size, section_bytes_));
        bytes = bytes.first(end_of_frames(bytes));
        if (!bytes.empty())
            out_.frames.insert(out_.frames.begin(), FrameSection{FrameSectionKind::kEhFrame, bytes, address});
    }

private:
    void damaged() { out_.damaged = true; }

    Bytes bytes_of(Elf_Scn* scn, const GElf_Shdr& shdr) {
        std::uint64_t size = shdr.sh_size;
        if ((shdr.sh_flags & SHF_COMPRESSED) != 0) {
            GElf_Chdr chdr;
            if (gelf_getchdr(scn, &chdr) == nullptr) return damaged(), Bytes{};
            size = chdr.ch_size;
            if (size > section_bytes_ || elf_compress(scn, 0, 0) < 0) return damaged(), Bytes{};
        }
        if (size > section_bytes_) return damaged(), Bytes{};
        const Elf_Data* data = elf_rawdata(scn, nullptr);
        if (data == nullptr || data->d_buf == nullptr || data->d_size == 0) return damaged(), Bytes{};
        return {static_cast<const std::byte*>(data->d_buf), data->d_size};
    }

    // Bytes of the file, wherever they belong to; what is not there is left out.
    Bytes raw(std::uint64_t offset, std::uint64_t size) {
        if (offset > INT64_MAX || size > section_bytes_) return {};
        const Elf_Data* data =
            elf_getdata_rawchunk(elf_, static_cast<std::int64_t>(offset), static_cast<std::size_t>(size), ELF_T_BYTE);
        if (data == nullptr || data->d_buf == nullptr) return damaged(), Bytes{};
        return {static_cast<const std::byte*>(data->d_buf), data->d_size};
    }

    static std::size_t end_of_frames(Bytes bytes) {
        ByteReader in(bytes);
        while (in.remaining() >= sizeof(std::uint32_t)) {
            const std::size_t start = in.position();
            std::uint64_t length = in.u32();
            if (length == 0) return start;
            if (length == 0xffffffff) length = in.u64();
            in.skip(length);
            if (!in.ok()) return start;
        }
        return in.position();
    }

    Elf* elf_;
    std::uint64_t section_bytes_;
    UnwindSections& out_;
    GElf_Phdr eh_frame_header_{};
};

void write_header(ByteWriter& writer, const UnwindSections& sections, const UnwindRows& rows) {
    writer.u32(kUnwindMagic);
    writer.u32(kUnwindVersion);
    writer.u32(static_cast<std::uint32_t>(sections.machine));
    writer.u32(rows.flags | (sections.damaged ? std::uint32_t{kUnwindDamaged} : 0));
    writer.u32(static_cast<std::uint32_t>(sections.segments.size()));
    writer.u32(static_cast<std::uint32_t>(rows.starts.size()));
    writer.u32(static_cast<std::uint32_t>(rows.rule_bytes.size() / kUnwindRuleSize));
    writer.u32(static_cast<std::uint32_t>(rows.register_bytes.size() / kUnwindRegisterSize));
    writer.u64(rows.base);
    writer.u32(static_cast<std::uint32_t>(rows.expressions.size()));
    writer.zeros(kUnwindHeaderSize - writer.size());
    for (const auto& segment : sections.segments) {
        writer.u64(segment.offset);
        writer.u64(segment.address);
        writer.u64(segment.size);
    }
}

}  // namespace

UnwindSections read_unwind_sections(int fd, std::uint64_t section_bytes) {
    UnwindSections out;
    if (elf_version(EV_CURRENT) == EV_NONE) return out;
    const std::shared_ptr<Elf> elf(elf_begin(fd, ELF_C_READ, nullptr), [](Elf* e) { elf_end(e); });
    if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) return out;
    Reader reader(elf.get(), section_bytes, out);
    if (!reader.read_header()) return out;
    reader.read_segments();
    reader.read_sections();
    reader.read_loaded_frames();
    out.keeps_bytes = elf;
    return out;
}

Result<void> write_unwind_table(int out_fd, int file_fd, std::uint64_t max_bytes) {
    const auto sections = read_unwind_sections(file_fd, std::max<std::uint64_t>(max_bytes, 64U << 20));
    FrameEntries entries;
    for (const FrameSection& section : sections.frames) read_frame_entries(section, entries);
    const std::uint64_t fixed = kUnwindHeaderSize + sections.segments.size() * kUnwindSegmentSize;
    const auto too_large = [] { return fail(ErrorCode::kExhausted, "unwind table over its limit"); };
    if (fixed > max_bytes) return too_large();
    const UnwindRows rows = unwind_rows(entries, sections.machine, sections.code, (max_bytes - fixed) / kUnwindRowSize);
    std::vector<std::byte> head;
    std::vector<std::byte> row_bytes;
    ByteWriter head_writer(head);
    ByteWriter row_writer(row_bytes);
    write_header(head_writer, sections, rows);
    row_bytes.reserve(rows.starts.size() * kUnwindRowSize);
    for (const std::uint32_t start : rows.starts) row_writer.u32(start);
    for (const std::uint32_t rule : rows.rules) row_writer.u32(rule);
    const std::size_t rest = rows.rule_bytes.size() + rows.register_bytes.size() + rows.expressions.size();
    if (head.size() + row_bytes.size() + rest > max_bytes) return too_large();
    for (const Bytes part :
         {Bytes(head), Bytes(row_bytes), Bytes(rows.rule_bytes), Bytes(rows.register_bytes), Bytes(rows.expressions)}) {
        if (auto written = write_all(out_fd, part); !written) return written;
    }
    return {};
}

}  // namespace perfvigil::analyzer
