// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/table_writer.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "analyzer/symbols/child/demangle.hpp"
#include "base/bytes.hpp"
#include "base/fd.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::uint64_t kU32Max = std::numeric_limits<std::uint32_t>::max();

void write_header(ByteWriter& writer, const ElfSymbols& symbols, std::size_t functions, std::size_t names_size) {
    const auto id = symbols.build_id.bytes();
    writer.u32(kTableMagic);
    writer.u32(kTableVersion);
    writer.u32(static_cast<std::uint32_t>(symbols.state));
    writer.u32(symbols.flags);
    writer.u32(static_cast<std::uint32_t>(symbols.segments.size()));
    writer.u32(static_cast<std::uint32_t>(functions));
    writer.u64(names_size);
    writer.u64(symbols.bounds.text);
    writer.u64(symbols.bounds.stext);
    writer.u64(symbols.bounds.etext);
    writer.u64(symbols.split_sections);
    writer.u8(static_cast<std::uint8_t>(id.size()));
    writer.bytes(id);
    writer.zeros(BuildId::kMaxSize - id.size());
    writer.u32(symbols.debug_link.crc);
    writer.u8(static_cast<std::uint8_t>(symbols.debug_link.name.size()));
    writer.zeros(kTableHeaderSize - writer.size());
    for (const auto& segment : symbols.segments) {
        writer.u64(segment.offset);
        writer.u64(segment.address);
        writer.u64(segment.size);
    }
}

}  // namespace

Result<void> write_table(int out_fd, ElfSymbols symbols, std::uint64_t max_bytes, NameForm form) {
    const auto ranges = disjoint_ranges(symbols.functions);
    // Symbols without a byte of code are none.
    if (ranges.empty() && symbols.state == FileState::kFunctions) symbols.state = FileState::kStripped;
    const std::string& link = symbols.debug_link.name;
    const auto fixed = kTableHeaderSize + symbols.segments.size() * kTableSegmentSize +
                       ranges.size() * kTableFunctionSize + link.size();
    const auto too_large = [] { return fail(ErrorCode::kExhausted, "symbol table over its limit"); };
    if (fixed > max_bytes || ranges.size() > kU32Max) return too_large();

    std::string names;
    std::vector<std::byte> starts;
    std::vector<std::byte> sizes;
    std::vector<std::byte> ends;
    ByteWriter start_writer(starts);
    ByteWriter size_writer(sizes);
    ByteWriter end_writer(ends);
    starts.reserve(ranges.size() * 8);
    sizes.reserve(ranges.size() * 4);
    ends.reserve(ranges.size() * 4);
    for (const auto& range : ranges) {
        const FunctionSymbol& symbol = symbols.functions[range.symbol];
        append_name(symbol.name, form, names);
        if (symbol.stub) names += kStubSuffix;
        if (names.size() > std::min(max_bytes - fixed, kU32Max)) return too_large();
        start_writer.u64(range.start);
        size_writer.u32(static_cast<std::uint32_t>(std::min(range.end - range.start, kU32Max)));
        end_writer.u32(static_cast<std::uint32_t>(names.size()));
    }
    std::vector<std::byte> head;
    ByteWriter head_writer(head);
    write_header(head_writer, symbols, ranges.size(), names.size());
    for (const Bytes part : {Bytes(head), Bytes(starts), Bytes(sizes), Bytes(ends), std::as_bytes(std::span(names)),
                             std::as_bytes(std::span(link))}) {
        if (auto written = write_all(out_fd, part); !written) return written;
    }
    return {};
}

}  // namespace perfvigil::analyzer
