// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/elf_head.hpp"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <vector>

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kMaxSegments = 512;
constexpr std::size_t kMaxNotes = 16;
constexpr std::size_t kMaxNoteBytes = 64U << 10;

struct Layout {
    Endian endian = Endian::kNative;
    bool wide = false;  // ELFCLASS64
    std::uint64_t segments_at = 0;
    std::uint16_t segment_size = 0;
    std::uint16_t segments = 0;
};

std::uint64_t word(ByteReader& reader, bool wide) { return wide ? reader.u64() : reader.u32(); }

// The ELF header past e_ident.
bool read_header(ByteReader& reader, Layout& layout, ElfHead& head) {
    head.type = reader.u16();
    head.machine = reader.u16();
    reader.skip(4);                   // e_version
    (void)word(reader, layout.wide);  // e_entry
    layout.segments_at = word(reader, layout.wide);
    (void)word(reader, layout.wide);  // e_shoff
    reader.skip(6);                   // e_flags, e_ehsize
    layout.segment_size = reader.u16();
    layout.segments = reader.u16();
    const std::size_t least = layout.wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    // The kernel runs no file with other sizes (fs/binfmt_elf.c, load_elf_phdrs).
    return reader.ok() && (layout.segments == 0 || layout.segment_size == least);
}

struct Segment {
    std::uint32_t type = 0;
    std::uint64_t offset = 0;
    std::uint64_t address = 0;
    std::uint64_t file_size = 0;
};

Segment read_segment(ByteReader reader, bool wide) {
    Segment segment;
    segment.type = reader.u32();
    if (wide) reader.skip(4);  // p_flags
    segment.offset = word(reader, wide);
    segment.address = word(reader, wide);
    (void)word(reader, wide);  // p_paddr
    segment.file_size = word(reader, wide);
    return segment;
}

}  // namespace

Result<ElfHead> read_elf_head(const ReadAt& read) {
    const auto start = read(0, sizeof(Elf64_Ehdr));
    const auto at = [&](std::size_t i) { return i < start.size() ? std::to_integer<unsigned char>(start[i]) : 0; };
    const bool magic =
        at(EI_MAG0) == ELFMAG0 && at(EI_MAG1) == ELFMAG1 && at(EI_MAG2) == ELFMAG2 && at(EI_MAG3) == ELFMAG3;
    const auto order = at(EI_DATA);
    const auto width = at(EI_CLASS);
    if (!magic || start.size() < EI_NIDENT) return fail(ErrorCode::kInvalid, "not an ELF file");
    if ((order != ELFDATA2LSB && order != ELFDATA2MSB) || (width != ELFCLASS32 && width != ELFCLASS64)) {
        return fail(ErrorCode::kInvalid, "an ELF file of unknown class or byte order");
    }
    Layout layout;
    layout.wide = width == ELFCLASS64;
    const bool little = std::endian::native == std::endian::little;
    layout.endian = (order == ELFDATA2LSB) == little ? Endian::kNative : Endian::kSwapped;

    ElfHead head;
    head.wide = layout.wide;
    head.big_endian = order == ELFDATA2MSB;
    ByteReader reader(Bytes(start).subspan(EI_NIDENT), layout.endian);
    if (!read_header(reader, layout, head)) return fail(ErrorCode::kInvalid, "a damaged ELF header");
    const auto count = std::min<std::size_t>(layout.segments, kMaxSegments);
    const auto table = read(layout.segments_at, count * layout.segment_size);
    if (table.size() < count * layout.segment_size) return fail(ErrorCode::kInvalid, "truncated program headers");
    std::size_t notes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto bytes = Bytes(table).subspan(i * layout.segment_size, layout.segment_size);
        const auto segment = read_segment(ByteReader(bytes, layout.endian), layout.wide);
        if (segment.type == PT_LOAD && segment.file_size > 0) {
            head.loads.push_back({segment.offset, segment.address, segment.file_size});
        }
        if (segment.type != PT_NOTE || !head.build_id.empty() || notes >= kMaxNotes) continue;
        ++notes;
        const auto size = std::min<std::uint64_t>(segment.file_size, kMaxNoteBytes);
        head.build_id = build_id_from_notes(read(segment.offset, static_cast<std::size_t>(size)), layout.endian);
    }
    return head;
}

Result<ElfHead> read_elf_head(int fd) {
    return read_elf_head([fd](std::uint64_t offset, std::size_t size) {
        std::vector<std::byte> bytes(size);
        if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - size)
            return std::vector<std::byte>{};
        std::size_t have = 0;
        while (have < size) {
            const auto got = ::pread(fd, bytes.data() + have, size - have, static_cast<off_t>(offset + have));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) break;
            have += static_cast<std::size_t>(got);
        }
        bytes.resize(have);
        return bytes;
    });
}

}  // namespace perfvigil::analyzer
