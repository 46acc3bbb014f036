// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of one file, as perfvigil-symbols wrote them down (table_format.hpp): looked up by file offset,
// straight in the mapped table. The table comes from a process that read hostile input, so it is checked whole at the
// start and believed only then. Knows no files and no processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/symbols/table_format.hpp"
#include "base/build_id.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/ids.hpp"

namespace perfvigil::analyzer {

class FileSymbols {
public:
    struct Function {
        std::string_view name;  // lives as long as the table
        FileOffset start{};
        std::uint64_t size = 0;
    };
    struct Segment {
        FileOffset offset{};
        LinkAddress address{};
        std::uint64_t size = 0;  // in the file
    };

    // `table` must not change any more: a sealed memfd, or memory of ours. The table starts at `begin` in it.
    [[nodiscard]] static Result<FileSymbols> from_mapping(MappedFile table, std::size_t begin = 0);
    // Checks bytes that outlive the result.
    [[nodiscard]] static Result<FileSymbols> from_bytes(Bytes table);

    [[nodiscard]] std::optional<Function> find(FileOffset offset) const;
    [[nodiscard]] std::optional<LinkAddress> link_address(FileOffset offset) const;

    [[nodiscard]] FileState state() const { return state_; }
    // It knows every function: what lies between them is none.
    [[nodiscard]] bool has_symtab() const { return (flags_ & (kTableSymtab | kTableMini)) != 0; }
    // The separate debug file that the file names; empty: none.
    [[nodiscard]] std::string_view debug_link() const { return debug_link_; }
    [[nodiscard]] std::uint32_t debug_link_crc() const { return debug_link_crc_; }
    [[nodiscard]] std::uint32_t flags() const { return flags_; }
    [[nodiscard]] const BuildId& build_id() const { return build_id_; }
    [[nodiscard]] const KernelBounds& bounds() const { return bounds_; }
    // Of a kernel module: how many of its sections hold one function (base/section_names.hpp).
    [[nodiscard]] std::uint64_t split_sections() const { return split_sections_; }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] Function at(std::size_t index) const;  // index < size()
    [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
    [[nodiscard]] std::size_t bytes() const { return table_.size(); }

private:
    FileSymbols() = default;
    bool read_head(ByteReader& reader);
    [[nodiscard]] bool consistent() const;
    [[nodiscard]] std::uint64_t start(std::size_t i) const { return number<std::uint64_t>(starts_, i); }
    [[nodiscard]] std::uint32_t length(std::size_t i) const { return number<std::uint32_t>(sizes_, i); }
    [[nodiscard]] std::uint32_t name_end(std::size_t i) const { return number<std::uint32_t>(ends_, i); }
    template <class T>
    [[nodiscard]] static T number(Bytes array, std::size_t i) {
        T value{};
        std::memcpy(&value, array.subspan(i * sizeof(T), sizeof(T)).data(), sizeof(T));
        return value;
    }

    MappedFile mapping_;
    Bytes table_;
    Bytes starts_;
    Bytes sizes_;
    Bytes ends_;
    Bytes names_;
    std::string debug_link_;
    std::uint32_t debug_link_crc_ = 0;
    std::size_t count_ = 0;
    std::vector<Segment> segments_;
    BuildId build_id_;
    KernelBounds bounds_;
    std::uint64_t split_sections_ = 0;
    FileState state_ = FileState::kDamaged;
    std::uint32_t flags_ = 0;
};

}  // namespace perfvigil::analyzer
