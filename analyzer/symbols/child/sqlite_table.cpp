// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/sqlite_table.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

namespace perfvigil::analyzer {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kFileHeader = 100;
constexpr std::uint8_t kLeaf = 0x0d;
constexpr std::uint8_t kInterior = 0x05;
constexpr unsigned kDeepest = 32;
constexpr std::size_t kSchemaName = 1;  // columns of sqlite_schema: type, name, tbl_name, rootpage, sql
constexpr std::size_t kSchemaRoot = 3;

std::uint64_t big_endian(Bytes bytes) {
    std::uint64_t value = 0;
    for (const auto byte : bytes) value = value << 8U | std::to_integer<std::uint64_t>(byte);
    return value;
}

// Up to nine bytes, the ninth whole. Moves `bytes` behind it; nullopt: they end early.
std::optional<std::uint64_t> take_varint(Bytes& bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 9 && i < bytes.size(); ++i) {
        const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
        if (i == 8) {
            bytes = bytes.subspan(9);
            return value << 8U | byte;
        }
        value = value << 7U | (byte & 0x7fU);
        if ((byte & 0x80U) == 0) {
            bytes = bytes.subspan(i + 1);
            return value;
        }
    }
    return std::nullopt;
}

std::uint64_t size_of_type(std::uint64_t type) {
    constexpr std::array<std::uint8_t, 12> kSizes{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return type < kSizes.size() ? kSizes[type] : (type - 12) / 2;
}

struct Value {
    std::uint64_t type = 0;
    Bytes bytes;
};

std::optional<Value> column_of(Bytes record, std::size_t column) {
    Bytes types = record;
    const auto header = take_varint(types);
    const std::size_t taken = record.size() - types.size();
    if (!header || *header < taken || *header > record.size()) return std::nullopt;
    types = types.first(static_cast<std::size_t>(*header) - taken);
    Bytes values = record.subspan(static_cast<std::size_t>(*header));
    for (std::size_t i = 0;; ++i) {
        const auto type = take_varint(types);
        if (!type) return std::nullopt;
        const std::uint64_t size = size_of_type(*type);
        if (size > values.size()) return std::nullopt;
        if (i == column) return Value{.type = *type, .bytes = values.first(static_cast<std::size_t>(size))};
        values = values.subspan(static_cast<std::size_t>(size));
    }
}

bool read_all(int fd, std::span<std::byte> into, std::uint64_t offset) {
    std::size_t done = 0;
    while (done < into.size()) {
        const auto got = ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += static_cast<std::size_t>(got);
    }
    return true;
}

}  // namespace

std::optional<SqliteFile> SqliteFile::open(int fd) {
    std::array<std::byte, kFileHeader> header{};
    struct stat status{};
    if (!read_all(fd, header, 0) || ::fstat(fd, &status) != 0) return std::nullopt;
    if (std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
    SqliteFile file(fd);
    const Bytes bytes(header);
    const auto size = static_cast<std::uint32_t>(big_endian(bytes.subspan(16, 2)));
    file.page_size_ = size == 1 ? 65536 : size;
    const auto reserved = std::to_integer<std::uint32_t>(header[20]);
    const bool is_power = file.page_size_ >= 512 && (file.page_size_ & (file.page_size_ - 1)) == 0;
    if (!is_power || file.page_size_ - reserved < 480) return std::nullopt;
    file.usable_ = file.page_size_ - reserved;
    file.pages_left_ = static_cast<std::uint64_t>(status.st_size) / file.page_size_;
    return file;
}

void SqliteFile::each_row(std::string_view table, std::size_t column, std::uint64_t most_bytes,
                          const std::function<bool(Bytes)>& visit) {
    most_bytes_ = 1U << 20;  // of what is written of one table
    const auto root = root_of(table);
    most_bytes_ = most_bytes;
    if (root == 0) return;
    walk(root, 0, [&](Bytes record) {
        const auto value = column_of(record, column);
        return visit(value && value->type >= 12 ? value->bytes : Bytes{});
    });
}

std::uint32_t SqliteFile::root_of(std::string_view table) {
    std::uint32_t root = 0;
    walk(1, 0, [&](Bytes record) {
        const auto type = column_of(record, 0);
        const auto name = column_of(record, kSchemaName);
        const auto page = column_of(record, kSchemaRoot);
        const auto is = [](const std::optional<Value>& value, std::string_view text) {
            return value && std::ranges::equal(value->bytes, std::as_bytes(std::span(text)));
        };
        if (!is(type, "table") || !is(name, table) || !page || page->type > 6) return true;
        root = static_cast<std::uint32_t>(page->type == 0 ? 0 : big_endian(page->bytes));
        return false;
    });
    return root;
}

bool SqliteFile::read_page(std::uint32_t number, std::vector<std::byte>& page) {
    if (number == 0 || pages_left_ == 0) return false;
    --pages_left_;
    page.resize(page_size_);
    return read_all(fd_, page, (std::uint64_t{number} - 1) * page_size_);
}

// False: `visit` wants no more.
bool SqliteFile::walk(std::uint32_t number, unsigned depth, const Visit& visit) {
    std::vector<std::byte> page;
    if (depth > kDeepest || !read_page(number, page)) return true;
    const std::size_t start = number == 1 ? kFileHeader : 0;
    const auto kind = std::to_integer<std::uint8_t>(page[start]);
    if (kind != kLeaf && kind != kInterior) return true;
    const Bytes bytes(page);
    const auto cells = static_cast<std::size_t>(big_endian(bytes.subspan(start + 3, 2)));
    const std::size_t pointers = start + (kind == kLeaf ? 8 : 12);
    for (std::size_t i = 0; i < cells && pointers + 2 * i + 2 <= usable_; ++i) {
        const auto at = static_cast<std::size_t>(big_endian(bytes.subspan(pointers + 2 * i, 2)));
        if (at + 4 > usable_) continue;
        const bool more = kind == kLeaf
                              ? visit_cell(bytes.first(usable_), at, visit)
                              : walk(static_cast<std::uint32_t>(big_endian(bytes.subspan(at, 4))), depth + 1, visit);
        if (!more) return false;
    }
    if (kind == kLeaf) return true;
    return walk(static_cast<std::uint32_t>(big_endian(bytes.subspan(start + 8, 4))), depth + 1, visit);
}

bool SqliteFile::visit_cell(Bytes page, std::size_t at, const Visit& visit) {
    Bytes cell = page.subspan(at);
    const auto size = take_varint(cell);
    if (!size || !take_varint(cell) || *size > most_bytes_) return true;
    // How much of it stands in this page: section 1.6 of the format.
    const std::uint64_t most = usable_ - 35;
    std::uint64_t local = *size;
    if (*size > most) {
        const std::uint64_t least = (usable_ - 12) * 32 / 255 - 23;
        local = least + (*size - least) % (usable_ - 4);
        if (local > most) local = least;
    }
    const std::size_t link = local < *size ? 4 : 0;
    if (local + link > cell.size()) return true;
    std::vector<std::byte> record(cell.begin(), cell.begin() + static_cast<std::ptrdiff_t>(local));
    std::uint64_t next = link == 0 ? 0 : big_endian(cell.subspan(static_cast<std::size_t>(local), link));
    std::vector<std::byte> more;
    while (record.size() < *size) {
        if (!read_page(static_cast<std::uint32_t>(next), more)) return true;
        next = big_endian(Bytes(more).first(4));
        const auto part = std::min<std::uint64_t>(*size - record.size(), usable_ - 4);
        record.insert(record.end(), more.begin() + 4, more.begin() + 4 + static_cast<std::ptrdiff_t>(part));
    }
    return visit(record);
}

}  // namespace perfvigil::analyzer
