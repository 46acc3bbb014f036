// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/rpm_packages.hpp"

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/symbols/child/sqlite_table.hpp"
#include "base/fd.hpp"

namespace perfvigil::analyzer {
namespace {

// lib/rpmtag.h of rpm.
enum Tag : std::uint32_t {
    kName = 1000,
    kVersion = 1001,
    kRelease = 1002,
    kEpoch = 1003,
    kFolderNumbers = 1116,
    kBaseNames = 1117,
    kFolders = 1118,
};
enum Type : std::uint32_t { kInt32 = 4, kString = 6, kStringArray = 8 };

constexpr std::uint64_t kMostHeaderBytes = 64U << 20;
constexpr std::size_t kMostPackages = 65536;
constexpr std::size_t kEntrySize = 16;
constexpr std::size_t kBlobColumn = 1;  // Packages(hnum, blob)

std::uint32_t u32(Bytes bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8U | std::to_integer<std::uint32_t>(bytes[at + i]);
    return value;
}

// A header: two counts, an index of (tag, type, offset, count), the data; numbers big-endian.
class Header {
public:
    explicit Header(Bytes bytes) {
        if (bytes.size() < 8) return;
        const std::uint64_t entries = u32(bytes, 0);
        const std::uint64_t size = u32(bytes, 4);
        if (8 + entries * kEntrySize + size > bytes.size()) return;
        index_ = bytes.subspan(8, static_cast<std::size_t>(entries) * kEntrySize);
        data_ = bytes.subspan(8 + index_.size(), static_cast<std::size_t>(size));
    }

    [[nodiscard]] std::vector<std::string_view> texts(Tag tag) const {
        std::vector<std::string_view> all;
        const auto entry = find(tag);
        if (!entry || (entry->type != kString && entry->type != kStringArray)) return all;
        const auto chars = data_.subspan(entry->offset);
        std::string_view rest(reinterpret_cast<const char*>(chars.data()), chars.size());
        for (std::uint32_t i = 0; i < entry->count; ++i) {
            const auto end = rest.find('\0');
            if (end == std::string_view::npos) break;
            all.push_back(rest.substr(0, end));
            rest.remove_prefix(end + 1);
        }
        return all;
    }
    [[nodiscard]] std::string_view text(Tag tag) const {
        const auto all = texts(tag);
        return all.empty() ? std::string_view() : all.front();
    }
    [[nodiscard]] std::vector<std::uint32_t> numbers(Tag tag) const {
        std::vector<std::uint32_t> all;
        const auto entry = find(tag);
        if (!entry || entry->type != kInt32 || entry->count > (data_.size() - entry->offset) / 4) return all;
        for (std::uint32_t i = 0; i < entry->count; ++i) all.push_back(u32(data_, entry->offset + 4 * std::size_t{i}));
        return all;
    }

private:
    struct Entry {
        std::uint32_t type = 0;
        std::uint32_t offset = 0;
        std::uint32_t count = 0;
    };
    [[nodiscard]] std::optional<Entry> find(Tag tag) const {
        for (std::size_t at = 0; at < index_.size(); at += kEntrySize) {
            if (u32(index_, at) != tag) continue;
            const Entry entry{
                .type = u32(index_, at + 4), .offset = u32(index_, at + 8), .count = u32(index_, at + 12)};
            return entry.offset <= data_.size() ? std::optional(entry) : std::nullopt;
        }
        return std::nullopt;
    }

    Bytes index_;
    Bytes data_;
};

// A line's worth: what holds a line break of its own would be read as several.
bool is_line(std::string_view text) { return !text.empty() && text.find('\n') == std::string_view::npos; }

}  // namespace

std::string rpm_package_text(Bytes bytes) {
    const Header header(bytes);
    const auto name = header.text(kName);
    const auto version = header.text(kVersion);
    const auto release = header.text(kRelease);
    if (!is_line(name) || !is_line(version) || !is_line(release)) return {};
    const auto folders = header.texts(kFolders);
    const auto files = header.texts(kBaseNames);
    const auto places = header.numbers(kFolderNumbers);
    if (files.empty() || places.size() != files.size()) return {};
    const auto epoch = header.numbers(kEpoch);
    std::string text;
    const auto add = [&](std::initializer_list<std::string_view> parts) {
        for (const auto part : parts) text += part;
    };
    add({"P:", name, "\nV:", epoch.empty() ? std::string() : std::to_string(epoch[0]) + ':', version, "-", release,
         "\n"});
    std::optional<std::uint32_t> folder;
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (places[i] >= folders.size() || !is_line(files[i])) continue;
        std::string_view path = folders[places[i]];
        if (!is_line(path) || !path.starts_with('/')) continue;
        path.remove_prefix(1);
        if (path.ends_with('/')) path.remove_suffix(1);
        if (folder != places[i]) add({"F:", path, "\n"});
        folder = places[i];
        add({"R:", files[i], "\n"});
    }
    return text;
}

Result<void> answer_packages(int out, int file, std::uint64_t max_bytes) {
    auto database = SqliteFile::open(file);
    if (!database) return fail(ErrorCode::kInvalid, "no SQLite database");
    std::size_t packages = 0;
    std::uint64_t size = 0;
    Result<void> done;
    database->each_row("Packages", kBlobColumn, kMostHeaderBytes, [&](Bytes header) {
        const auto text = rpm_package_text(header);
        size += text.size();
        if (size > max_bytes) {
            done = fail(ErrorCode::kExhausted, "packages over their limit");
        } else {
            done = write_all(out, std::as_bytes(std::span(text)));
        }
        return done.has_value() && ++packages < kMostPackages;
    });
    return done;
}

}  // namespace perfvigil::analyzer
