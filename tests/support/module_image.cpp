// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/module_image.hpp"

#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <stdexcept>
#include <string_view>

#include "base/bytes.hpp"

namespace perfvigil::test {
namespace {

constexpr std::uint64_t kAlign = 16;

std::uint64_t aligned(std::uint64_t at) { return (at + kAlign - 1) / kAlign * kAlign; }

class Image {
public:
    explicit Image(const ModuleImageSpec& spec) : spec_(spec), out_(aligned(sizeof(Elf64_Ehdr))) { headers_.resize(1); }

    std::vector<std::byte> build() {
        for (const auto& code : spec_.code) {
            const std::vector<std::byte> bytes(code.size, std::byte{code.fill});
            add(code.name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, bytes);
        }
        if (!spec_.build_id.empty()) add(".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, note());
        add_symbols();
        names_.push_back(".shstrtab");
        headers_.push_back({});
        finish();
        return std::move(out_);
    }

private:
    void add(const std::string& name, std::uint32_t type, std::uint64_t flags, Bytes bytes, std::uint32_t link = 0,
             std::uint64_t entry = 0) {
        Elf64_Shdr header{};
        header.sh_type = type;
        header.sh_flags = flags;
        header.sh_offset = out_.size();
        header.sh_size = bytes.size();
        header.sh_link = link;
        header.sh_addralign = kAlign;
        header.sh_entsize = entry;
        out_.insert(out_.end(), bytes.begin(), bytes.end());
        out_.resize(aligned(out_.size()));
        names_.push_back(name);
        headers_.push_back(header);
    }

    [[nodiscard]] std::vector<std::byte> note() const {
        std::vector<std::byte> bytes;
        ByteWriter writer(bytes);
        writer.u32(4);
        writer.u32(static_cast<std::uint32_t>(spec_.build_id.bytes().size()));
        writer.u32(NT_GNU_BUILD_ID);
        writer.padded_text("GNU", 4, 0);
        writer.bytes(spec_.build_id.bytes());
        return bytes;
    }

    void add_symbols() {
        std::string strings(1, '\0');
        std::vector<Elf64_Sym> symbols(1);
        for (const auto& symbol : spec_.symbols) {
            Elf64_Sym made{};
            made.st_name = static_cast<std::uint32_t>(strings.size());
            made.st_info = static_cast<unsigned char>((symbol.bind << 4U) | symbol.type);
            made.st_shndx = static_cast<std::uint16_t>(symbol.code + 1);
            made.st_value = symbol.value;
            made.st_size = symbol.size;
            strings += symbol.name + '\0';
            symbols.push_back(made);
        }
        const auto strings_at = static_cast<std::uint32_t>(headers_.size() + 1);
        add(".symtab", SHT_SYMTAB, 0, std::as_bytes(std::span(symbols)), strings_at, sizeof(Elf64_Sym));
        add(".strtab", SHT_STRTAB, 0, std::as_bytes(std::span(strings)));
    }

    void finish() {
        std::string text(1, '\0');
        for (std::size_t i = 0; i < names_.size(); ++i) {
            headers_[i + 1].sh_name = static_cast<std::uint32_t>(text.size());
            text += names_[i] + '\0';
        }
        Elf64_Shdr& last = headers_.back();
        last.sh_type = SHT_STRTAB;
        last.sh_offset = out_.size();
        last.sh_size = text.size();
        const auto bytes = std::as_bytes(std::span(text));
        out_.insert(out_.end(), bytes.begin(), bytes.end());
        out_.resize(aligned(out_.size()));

        Elf64_Ehdr head{};
        std::memcpy(head.e_ident, ELFMAG, SELFMAG);
        head.e_ident[EI_CLASS] = ELFCLASS64;
        head.e_ident[EI_DATA] = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
        head.e_ident[EI_VERSION] = EV_CURRENT;
        head.e_type = spec_.type;
        head.e_machine = EM_X86_64;
        head.e_version = EV_CURRENT;
        head.e_shoff = out_.size();
        head.e_ehsize = sizeof(Elf64_Ehdr);
        head.e_shentsize = sizeof(Elf64_Shdr);
        head.e_shnum = static_cast<std::uint16_t>(headers_.size());
        head.e_shstrndx = static_cast<std::uint16_t>(headers_.size() - 1);
        std::memcpy(out_.data(), &head, sizeof(head));
        const auto table = std::as_bytes(std::span(headers_));
        out_.insert(out_.end(), table.begin(), table.end());
    }

    const ModuleImageSpec& spec_;
    std::vector<std::byte> out_;
    std::vector<Elf64_Shdr> headers_;
    std::vector<std::string> names_;  // of headers_ from 1 on
};

std::vector<std::byte> gzipped(const std::vector<std::byte>& bytes) {
    z_stream stream{};
    constexpr int kGzip = 16 + MAX_WBITS;
    if (::deflateInit2(&stream, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error("zlib");
    std::vector<std::byte> out(::deflateBound(&stream, bytes.size()) + 64);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const bool done = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;
    out.resize(stream.total_out);
    ::deflateEnd(&stream);
    if (!done) throw std::runtime_error("zlib");
    return out;
}

// The container of xz(1) with its payload stored, not compressed: what liblzma has to read is the same.
std::uint32_t crc32_of(Bytes bytes) {
    return static_cast<std::uint32_t>(
        ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

void variable(std::vector<std::byte>& to, std::uint64_t number) {
    while (number >= 0x80) {
        to.push_back(static_cast<std::byte>(number | 0x80));
        number >>= 7U;
    }
    to.push_back(static_cast<std::byte>(number));
}

std::vector<std::byte> xz_stored(const std::vector<std::byte>& bytes) {
    std::vector<std::byte> out;
    ByteWriter to(out);
    const auto little = [&](std::uint32_t value) {
        for (unsigned shift = 0; shift < 32; shift += 8) to.u8(static_cast<std::uint8_t>(value >> shift));
    };
    constexpr std::string_view kFlags("\0\1", 2);  // each block ends with a CRC32
    const auto flags = std::as_bytes(std::span(kFlags));
    to.text(
        std::string_view("\xfd"
                         "7zXZ\0",
                         6));
    to.bytes(flags);
    little(crc32_of(flags));
    const auto block = out.size();
    constexpr std::string_view kBlock("\2\0\x21\1\x16\0\0\0", 8);  // one filter: LZMA2, dictionary of 8 MiB
    to.text(kBlock);
    little(crc32_of(Bytes(out).subspan(block, kBlock.size())));
    constexpr std::size_t kMost = 65536;
    for (std::size_t at = 0; at < bytes.size(); at += kMost) {
        const auto piece = Bytes(bytes).subspan(at, std::min(kMost, bytes.size() - at));
        to.u8(at == 0 ? 1 : 2);  // stored; the first resets the dictionary
        to.u8(static_cast<std::uint8_t>((piece.size() - 1) >> 8U));
        to.u8(static_cast<std::uint8_t>(piece.size() - 1));
        to.bytes(piece);
    }
    to.u8(0);
    const auto unpadded = out.size() - block + 4;
    while ((out.size() - block) % 4 != 0) to.u8(0);
    little(crc32_of(bytes));
    std::vector<std::byte> index{std::byte{0}, std::byte{1}};
    variable(index, unpadded);
    variable(index, bytes.size());
    while (index.size() % 4 != 0) index.push_back(std::byte{0});
    to.bytes(index);
    little(crc32_of(index));
    std::vector<std::byte> footer;
    ByteWriter end(footer);
    const auto backward = static_cast<std::uint32_t>((index.size() + 4) / 4 - 1);
    for (unsigned shift = 0; shift < 32; shift += 8) end.u8(static_cast<std::uint8_t>(backward >> shift));
    end.bytes(flags);
    little(crc32_of(footer));
    to.bytes(footer);
    to.text("YZ");
    return out;
}

std::vector<std::byte> zstd_packed(const std::vector<std::byte>& bytes) {
    std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
    const auto size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3);
    if (ZSTD_isError(size) != 0) throw std::runtime_error("zstd");
    out.resize(size);
    return out;
}

}  // namespace

std::vector<std::byte> make_module(const ModuleImageSpec& spec) { return Image(spec).build(); }

std::uint64_t module_code_offset(const ModuleImageSpec& spec, std::size_t index) {
    auto at = aligned(sizeof(Elf64_Ehdr));
    for (std::size_t i = 0; i < index; ++i) at = aligned(at + spec.code[i].size);
    return at;
}

std::vector<std::byte> packed(const std::vector<std::byte>& bytes, Packing packing) {
    switch (packing) {
        case Packing::kGzip: return gzipped(bytes);
        case Packing::kXz: return xz_stored(bytes);
        case Packing::kZstd: return zstd_packed(bytes);
    }
    return bytes;
}

}  // namespace perfvigil::test
