// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/source_lines.hpp"

#include <algorithm>
#include <map>

#include "analyzer/symbols/lines_format.hpp"

namespace perfvigil::analyzer {

Result<SourceLines> SourceLines::from_bytes(Bytes answer, std::vector<LinkAddress> asked) {
    const auto broken = [] { return fail(ErrorCode::kInvalid, "the answer for source lines breaks its format"); };
    SourceLines lines;
    ByteReader reader(answer);
    if (reader.u32() != kLinesMagic || reader.u32() != kLinesVersion) return broken();
    const auto rows = reader.u32();
    const auto files = reader.u32();
    lines.has_debug_info_ = (reader.u32() & kLinesDebugInfo) != 0;
    const auto names_size = reader.u32();
    if (!reader.ok() || rows != asked.size() || rows > reader.remaining() / kLinesRowSize) return broken();
    for (std::uint32_t i = 0; i < rows; ++i) {
        Row row;
        row.file = reader.u32();
        row.line = reader.u32();
        if (row.file > files) return broken();
        lines.rows_.push_back(row);
    }
    if (files > reader.remaining() / sizeof(std::uint32_t)) return broken();
    ByteReader ends(reader.take(std::uint64_t{files} * sizeof(std::uint32_t)));
    const Bytes names = reader.take(names_size);
    if (!reader.ok()) return broken();
    std::uint32_t begin = 0;
    for (std::uint32_t i = 0; i < files; ++i) {
        const auto end = ends.u32();
        if (end < begin || end > names.size()) return broken();
        lines.files_.emplace_back(reinterpret_cast<const char*>(names.data()) + begin, end - begin);
        begin = end;
    }
    lines.addresses_ = std::move(asked);
    return lines;
}

SourceLines SourceLines::from_rows(const std::vector<std::pair<LinkAddress, SourceLine>>& rows) {
    SourceLines lines;
    lines.has_debug_info_ = true;
    std::map<std::string, std::uint32_t> files;
    for (const auto& [address, line] : rows) {
        const auto [at, added] = files.try_emplace(line.file, static_cast<std::uint32_t>(lines.files_.size() + 1));
        if (added) lines.files_.push_back(line.file);
        lines.addresses_.push_back(address);
        lines.rows_.push_back({.file = at->second, .line = line.line});
    }
    return lines;
}

SourceLines SourceLines::part(LinkAddress start, std::uint64_t size) const {
    std::vector<std::pair<LinkAddress, SourceLine>> rows;
    for (auto at = std::ranges::lower_bound(addresses_, start);
         at != addresses_.end() && at->value - start.value < size; ++at) {
        if (auto line = find(*at)) rows.emplace_back(*at, std::move(*line));
    }
    SourceLines lines = from_rows(rows);
    lines.has_debug_info_ = has_debug_info_;
    return lines;
}

std::optional<SourceLine> SourceLines::find(LinkAddress address) const {
    const auto at = std::ranges::lower_bound(addresses_, address);
    if (at == addresses_.end() || *at != address) return std::nullopt;
    const Row& row = rows_[static_cast<std::size_t>(at - addresses_.begin())];
    if (row.file == 0) return std::nullopt;
    return SourceLine{.file = files_[row.file - 1], .line = row.line};
}

}  // namespace perfvigil::analyzer
