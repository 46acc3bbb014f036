// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/gnu_sections.hpp"

#include <lzma.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kMaxLinkName = 255;                // NAME_MAX
constexpr std::uint64_t kMaxDecoderMemory = 128U << 20;  // xz -9 takes 65 MiB
constexpr std::size_t kPiece = 1U << 20;

}  // namespace

std::optional<DebugLink> parse_debug_link(Bytes section, Endian endian) {
    const auto end = std::ranges::find(section, std::byte{0});
    const auto size = static_cast<std::size_t>(end - section.begin());
    if (end == section.end() || size == 0 || size > kMaxLinkName) return std::nullopt;
    DebugLink link;
    link.name.assign(reinterpret_cast<const char*>(section.data()), size);
    if (link.name == "." || link.name == ".." || link.name.find('/') != std::string::npos) return std::nullopt;
    const auto crc_at = (size + 4) & ~std::size_t{3};  // behind the terminator, at a multiple of four
    if (crc_at > section.size()) return std::nullopt;
    ByteReader reader(section.subspan(crc_at), endian);
    link.crc = reader.u32();
    if (!reader.ok()) return std::nullopt;
    return link;
}

std::optional<std::vector<std::byte>> unpack_debug_data(Bytes section, std::size_t max_bytes) {
    lzma_stream stream = LZMA_STREAM_INIT;
    if (::lzma_stream_decoder(&stream, kMaxDecoderMemory, LZMA_CONCATENATED) != LZMA_OK) return std::nullopt;
    stream.next_in = reinterpret_cast<const std::uint8_t*>(section.data());
    stream.avail_in = section.size();
    std::vector<std::byte> out;
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK && out.size() < max_bytes) {
        const auto done = out.size();
        out.resize(std::min(max_bytes, done + std::max(kPiece, done)));
        stream.next_out = reinterpret_cast<std::uint8_t*>(out.data() + done);
        stream.avail_out = out.size() - done;
        result = ::lzma_code(&stream, LZMA_FINISH);
        out.resize(out.size() - stream.avail_out);
    }
    ::lzma_end(&stream);
    if (result != LZMA_STREAM_END) return std::nullopt;
    return out;
}

std::optional<std::uint32_t> debug_link_crc(int fd) {
    std::vector<unsigned char> piece(kPiece);
    uLong crc = ::crc32(0, nullptr, 0);
    off_t at = 0;
    while (true) {
        const auto got = ::pread(fd, piece.data(), piece.size(), at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        if (got == 0) return static_cast<std::uint32_t>(crc);
        crc = ::crc32(crc, piece.data(), static_cast<uInt>(got));
        at += got;
    }
}

}  // namespace perfvigil::analyzer
