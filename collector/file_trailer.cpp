// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/file_trailer.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::size_t kMagicSize = 8;

struct Kind {
    FilePart part;
    std::string_view magic;
    std::string_view name;
};
constexpr std::array kKinds{Kind{FilePart::kHostFacts, "PVFACTS1", "trailer of host facts"},
                            Kind{FilePart::kEvidence, "PVBUNDLE", "evidence"}};

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string backwards(std::string_view text) { return {text.rbegin(), text.rend()}; }

const Kind& kind_of(FilePart part) { return *std::ranges::find(kKinds, part, &Kind::part); }

}  // namespace

std::uint64_t part_hash(Bytes part) { return stable_hash(text_of(part)); }

void append_trailer(FilePart kind, std::uint64_t offset, Bytes part, std::vector<std::byte>& out) {
    const std::string_view magic = kind_of(kind).magic;
    // `part` may lie in `out`.
    const std::uint64_t size = part.size();
    const std::uint64_t hash = part_hash(part);
    ByteWriter writer(out);
    writer.text(magic);
    writer.u32(kTrailerVersion);
    writer.u32(0);
    writer.u64(offset);
    writer.u64(size);
    writer.u64(hash);
    writer.text(backwards(magic));
}

std::optional<FilePart> part_at_end(Bytes end) {
    if (end.size() < kTrailerSize) return std::nullopt;
    const std::string_view trailer = text_of(end.last(kTrailerSize));
    for (const Kind& kind : kKinds) {
        if (trailer.starts_with(kind.magic) && trailer.ends_with(backwards(kind.magic))) return kind.part;
    }
    return std::nullopt;
}

Result<FileTrailer> read_trailer(Bytes end, std::uint64_t file_size) {
    const auto part = part_at_end(end);
    if (!part || file_size < kTrailerSize) return fail(ErrorCode::kInvalid, "no part of perfvigil's at its end");
    const std::string_view name = kind_of(*part).name;
    ByteReader reader(end.last(kTrailerSize));
    reader.skip(kMagicSize);
    const std::uint32_t version = reader.u32();
    reader.skip(4);
    FileTrailer trailer{.part = *part};
    trailer.offset = reader.u64();
    trailer.size = reader.u64();
    trailer.hash = reader.u64();
    if (version > kTrailerVersion) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("its {} has version {}, this program reads up to {}", name, version, kTrailerVersion));
    }
    const std::uint64_t rest = file_size - kTrailerSize;
    if (trailer.size > rest || trailer.offset != rest - trailer.size) {
        return fail(ErrorCode::kInvalid, fmt::format("its {} of {} bytes behind {} does not make up the file", name,
                                                     trailer.size, trailer.offset));
    }
    return trailer;
}

Result<Bytes> checked_part(Bytes part, const FileTrailer& trailer) {
    if (part_hash(part) == trailer.hash) return part;
    return fail(ErrorCode::kInvalid,
                fmt::format("its {} is not what was written: the hash differs", kind_of(trailer.part).name));
}

}  // namespace perfvigil::collector
