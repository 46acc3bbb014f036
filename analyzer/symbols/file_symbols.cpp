// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/file_symbols.hpp"

#include <algorithm>

namespace perfvigil::analyzer {

Result<FileSymbols> FileSymbols::from_mapping(MappedFile table, std::size_t begin) {
    if (begin > table.bytes().size()) return fail(ErrorCode::kInvalid, "the answer lost its question");
    auto symbols = from_bytes(table.bytes().subspan(begin));
    if (symbols) symbols->mapping_ = std::move(table);
    return symbols;
}

Result<FileSymbols> FileSymbols::from_bytes(Bytes table) {
    FileSymbols symbols;
    symbols.table_ = table;
    ByteReader reader(table);
    if (!symbols.read_head(reader) || !symbols.consistent()) {
        return fail(ErrorCode::kInvalid, "the symbol table breaks its format");
    }
    return symbols;
}

bool FileSymbols::read_head(ByteReader& reader) {
    if (reader.u32() != kTableMagic || reader.u32() != kTableVersion) return false;
    const auto state = reader.u32();
    flags_ = reader.u32();
    const auto segments = reader.u32();
    count_ = reader.u32();
    const auto names_size = reader.u64();
    bounds_.text = reader.u64();
    bounds_.stext = reader.u64();
    bounds_.etext = reader.u64();
    split_sections_ = reader.u64();
    const auto id_size = reader.u8();
    const auto id = reader.take(BuildId::kMaxSize);
    debug_link_crc_ = reader.u32();
    const auto link_size = reader.u8();
    reader.skip(kTableHeaderSize - reader.position());
    if (!reader.ok() || state > static_cast<std::uint32_t>(FileState::kDamaged) || id_size > id.size()) return false;
    state_ = static_cast<FileState>(state);
    build_id_ = BuildId(id.first(id_size));

    if (segments > reader.remaining() / kTableSegmentSize) return false;
    for (std::uint32_t i = 0; i < segments; ++i) {
        Segment segment;
        segment.offset.value = reader.u64();
        segment.address.value = reader.u64();
        segment.size = reader.u64();
        segments_.push_back(segment);
    }
    starts_ = reader.take(std::uint64_t{count_} * sizeof(std::uint64_t));
    sizes_ = reader.take(std::uint64_t{count_} * sizeof(std::uint32_t));
    ends_ = reader.take(std::uint64_t{count_} * sizeof(std::uint32_t));
    names_ = reader.take(names_size);
    debug_link_ = reader.text_field(link_size);
    return reader.ok() && debug_link_.size() == link_size && debug_link_.find('/') == std::string::npos;
}

bool FileSymbols::consistent() const {
    std::uint64_t free_from = 0;
    std::uint32_t name_from = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        const auto begin = start(i);
        const std::uint64_t size = length(i);
        if (begin < free_from || size == 0 || begin + size < begin) return false;
        if (name_end(i) < name_from || name_end(i) > names_.size()) return false;
        free_from = begin + size;
        name_from = name_end(i);
    }
    return (state_ == FileState::kFunctions) == (count_ > 0);
}

FileSymbols::Function FileSymbols::at(std::size_t index) const {
    const auto begin = index == 0 ? 0 : name_end(index - 1);
    const auto name = names_.subspan(begin, name_end(index) - begin);
    return {.name = {reinterpret_cast<const char*>(name.data()), name.size()},
            .start = FileOffset{start(index)},
            .size = length(index)};
}

std::optional<FileSymbols::Function> FileSymbols::find(FileOffset offset) const {
    std::size_t low = 0;  // the first function that starts after the offset
    std::size_t high = count_;
    while (low < high) {
        const auto middle = low + (high - low) / 2;
        if (start(middle) <= offset.value)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || offset.value - start(low - 1) >= length(low - 1)) return std::nullopt;
    return at(low - 1);
}

std::optional<LinkAddress> FileSymbols::link_address(FileOffset offset) const {
    const auto holds = [&](const Segment& s) { return offset >= s.offset && offset.value - s.offset.value < s.size; };
    const auto found = std::ranges::find_if(segments_, holds);
    if (found == segments_.end()) return std::nullopt;
    return LinkAddress{offset.value - found->offset.value + found->address.value};
}

}  // namespace perfvigil::analyzer
