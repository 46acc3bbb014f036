// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/inlined_frames.hpp"

#include <algorithm>

#include "analyzer/symbols/inlined_format.hpp"

namespace perfvigil::analyzer {

bool InlinedFrames::has_debug_info() const { return (flags_ & kInlinedDebugInfo) != 0; }
bool InlinedFrames::is_split() const { return (flags_ & kInlinedSplit) != 0; }
bool InlinedFrames::lacks_alt() const { return (flags_ & kInlinedAltMissing) != 0; }

Result<InlinedFrames> InlinedFrames::from_bytes(Bytes answer, std::vector<LinkAddress> asked) {
    const auto broken = [] { return fail(ErrorCode::kInvalid, "the answer for inlined calls breaks its format"); };
    InlinedFrames made;
    ByteReader reader(answer);
    if (reader.u32() != kInlinedMagic || reader.u32() != kInlinedVersion) return broken();
    const auto addresses = reader.u32();
    const auto frames = reader.u32();
    const auto strings = reader.u32();
    made.flags_ = reader.u32();
    const auto names_size = reader.u32();
    const auto id_size = reader.u32();
    const Bytes id = reader.take(BuildId::kMaxSize);
    made.split_units_ = reader.u32();
    const auto split_files = reader.u32();
    if (!reader.ok() || addresses != asked.size() || id_size > id.size()) return broken();
    if (split_files > std::min<std::uint64_t>(kMaxSplitNames, strings)) return broken();
    made.alt_ = BuildId(id.first(id_size));
    if (!made.read_rows(reader, addresses, frames, strings)) return broken();
    if (!made.read_strings(reader, strings, names_size)) return broken();
    made.split_files_.assign(made.strings_.end() - split_files, made.strings_.end());
    made.addresses_ = std::move(asked);
    return made;
}

bool InlinedFrames::read_rows(ByteReader& reader, std::size_t addresses, std::size_t frames, std::size_t strings) {
    if (addresses > reader.remaining() / sizeof(std::uint32_t)) return false;
    std::size_t end = 0;
    for (std::size_t i = 0; i < addresses; ++i) {
        end += reader.u32();
        if (end > frames) return false;
        ends_.push_back(end);
    }
    if (end != frames || frames > reader.remaining() / kInlinedFrameSize) return false;
    rows_.reserve(frames);
    for (std::size_t i = 0; i < frames; ++i) {
        Row row;
        row.function = reader.u32();
        row.file = reader.u32();
        row.line = reader.u32();
        if (row.function > strings || row.file > strings) return false;
        rows_.push_back(row);
    }
    return true;
}

bool InlinedFrames::read_strings(ByteReader& reader, std::size_t strings, std::uint32_t names_size) {
    if (strings > reader.remaining() / sizeof(std::uint32_t)) return false;
    ByteReader ends(reader.take(std::uint64_t{strings} * sizeof(std::uint32_t)));
    const Bytes names = reader.take(names_size);
    if (!reader.ok()) return false;
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < strings; ++i) {
        const auto end = ends.u32();
        if (end < begin || end > names.size()) return false;
        strings_.emplace_back(reinterpret_cast<const char*>(names.data()) + begin, end - begin);
        begin = end;
    }
    return true;
}

std::vector<InlinedFrame> InlinedFrames::find(LinkAddress address) const {
    const auto at = std::ranges::lower_bound(addresses_, address);
    if (at == addresses_.end() || *at != address) return {};
    const auto position = static_cast<std::size_t>(at - addresses_.begin());
    std::vector<InlinedFrame> frames;
    for (std::size_t i = position == 0 ? 0 : ends_[position - 1]; i < ends_[position]; ++i) {
        frames.push_back({.function = text(rows_[i].function), .file = text(rows_[i].file), .line = rows_[i].line});
    }
    return frames;
}

}  // namespace perfvigil::analyzer
