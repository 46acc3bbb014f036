// SPDX-License-Identifier: GPL-2.0-or-later
// The rows of one table of a SQLite database file, by https://www.sqlite.org/fileformat2.html: b-tree pages, overflow
// pages, records. Enough for a table with a row id that is read once from end to end; no index, no SQL, no journal
// (what only a write-ahead log beside the file holds is not seen). By pread, page by page: the file may lie, change
// while it is read, or be large. The library would want it whole in memory, and a file in WAL mode changed first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"

namespace perfvigil::analyzer {

class SqliteFile {
public:
    // nullopt: no SQLite database. `fd` stays the caller's.
    [[nodiscard]] static std::optional<SqliteFile> open(int fd);

    // Each row's column `column`, as stored (blob or text; empty for anything else), until `visit` returns false.
    // Damaged pages and rows over `most_bytes` are passed over.
    void each_row(std::string_view table, std::size_t column, std::uint64_t most_bytes,
                  const std::function<bool(Bytes)>& visit);

private:
    using Visit = std::function<bool(Bytes record)>;
    explicit SqliteFile(int fd) : fd_(fd) {}

    [[nodiscard]] bool read_page(std::uint32_t number, std::vector<std::byte>& page);
    bool walk(std::uint32_t number, unsigned depth, const Visit& visit);
    bool visit_cell(Bytes page, std::size_t at, const Visit& visit);
    [[nodiscard]] std::uint32_t root_of(std::string_view table);

    int fd_;
    std::uint32_t page_size_ = 0;
    std::uint32_t usable_ = 0;      // of a page
    std::uint64_t pages_left_ = 0;  // a tree has no more pages than its file
    std::uint64_t most_bytes_ = 0;
};

}  // namespace perfvigil::analyzer
