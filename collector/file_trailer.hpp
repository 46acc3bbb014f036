// SPDX-License-Identifier: GPL-2.0-or-later
// What perfvigil appends to a perf.data file. perf reads such a file by the offsets in its header and passes over what
// follows, so a part of ours goes to the end, and its trailer behind it says what it is and where it begins:
//
//   0             what was there before: a perf.data file, perhaps with parts already
//   offset        the part
//   offset+size   magic (8), u32 version, u32 zero, u64 offset, u64 size, u64 FNV-1a of the part, the magic backwards;
//                 native, which is little endian wherever perfvigil runs
//
// Read from the end: a file may have host facts, and behind them the evidence of a bundle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::collector {

enum class FilePart : std::uint8_t {
    kHostFacts,  // "PVFACTS1": docs/host-facts.proto
    kEvidence,   // "PVBUNDLE": docs/bundle.md
};

inline constexpr std::uint32_t kTrailerVersion = 1;
inline constexpr std::size_t kTrailerSize = 48;

struct FileTrailer {
    FilePart part{};
    std::uint64_t offset = 0;  // of the part, and the size of what was there before
    std::uint64_t size = 0;
    std::uint64_t hash = 0;

    friend bool operator==(const FileTrailer&, const FileTrailer&) = default;
};

[[nodiscard]] std::uint64_t part_hash(Bytes part);
// Appends to `out`, which ends with `part` at `offset` of the file, the trailer of it.
void append_trailer(FilePart kind, std::uint64_t offset, Bytes part, std::vector<std::byte>& out);

// Which part a file ends with, by its last bytes; fewer than kTrailerSize of them are no trailer.
[[nodiscard]] std::optional<FilePart> part_at_end(Bytes end);
// … and where it lies. The error says why it cannot be used.
[[nodiscard]] Result<FileTrailer> read_trailer(Bytes end, std::uint64_t file_size);
// The part again, where it is what was written.
[[nodiscard]] Result<Bytes> checked_part(Bytes part, const FileTrailer& trailer);

}  // namespace perfvigil::collector
