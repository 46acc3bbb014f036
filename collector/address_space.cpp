// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/address_space.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace perfvigil::collector {
namespace {

constexpr std::uint32_t kMapHugetlb = 0x40000;  // MAP_HUGETLB

// The first mapping that ends after `address`.
template <class Table>
auto first_ending_after(Table& table, std::uint64_t address) {
    return std::partition_point(table.begin(), table.end(), [&](const Mapping& m) { return m.end <= address; });
}

bool continues(const Mapping& left, const Mapping& right) {
    return left.end == right.start && left.dso == right.dso &&
           left.offset_of(right.start) == right.offset_of(right.start);
}

}  // namespace

DsoKind dso_kind_of(std::string_view path, const BuildId& build_id, std::uint32_t map_flags) {
    if (path.starts_with("[vdso")) return DsoKind::kVdso;
    if (path == "[vsyscall]") return DsoKind::kVsyscall;
    if (path == "[uprobes]") return DsoKind::kUprobes;
    if (!build_id.empty()) return DsoKind::kFile;
    constexpr std::array<std::string_view, 10> kAnonymousNames{"//anon",         "[heap]",      "[stack", "[anon",
                                                               "/memfd:",        "/dev/zero",   "/SYSV",  "anon_inode:",
                                                               "/anon_hugepage", "/anon_inode:"};
    const bool anonymous = path.empty() || (map_flags & kMapHugetlb) != 0 ||
                           std::any_of(kAnonymousNames.begin(), kAnonymousNames.end(),
                                       [&](std::string_view name) { return path.starts_with(name); });
    return anonymous ? DsoKind::kAnonymous : DsoKind::kFile;
}

const std::vector<Mapping>& AddressSpace::mappings() const {
    static const Table kNone;
    return table_ ? *table_ : kNone;
}

// The last mapping that starts at or before the address, without branches that depend on it: addresses of a call chain
// cannot be predicted.
const Mapping* AddressSpace::search(std::uint64_t address) const {
    const Table& table = *table_;
    if (table.empty()) return nullptr;
    const Mapping* at = table.data();
    for (std::size_t left = table.size(); left > 1;) {
        const std::size_t half = left / 2;
        at = at[half].start <= address ? at + half : at;
        left -= half;
    }
    if (!at->holds(address)) return nullptr;
    last_ = static_cast<std::size_t>(at - table.data());
    return at;
}

// A table of our own, copied when a fork shares it.
AddressSpace::Table& AddressSpace::own() {
    constexpr std::size_t kFirstCapacity = 16;  // a dynamically linked program maps about as much
    if (!table_) {
        table_ = std::make_shared<Table>();
        table_->reserve(kFirstCapacity);
    } else if (table_.use_count() > 1) {
        auto copy = std::make_shared<Table>();
        copy->reserve(table_->size() + kFirstCapacity);
        copy->assign(table_->begin(), table_->end());
        table_ = std::move(copy);
    }
    return *table_;
}

// Nothing new: a runtime that makes its code writable and executable again reports the same range each time.
bool AddressSpace::knows(const Mapping& mapping) const {
    if (!table_) return false;
    const auto found = first_ending_after(*table_, mapping.start);
    return found != table_->end() && found->start <= mapping.start && mapping.end <= found->end &&
           found->dso == mapping.dso && found->offset_of(mapping.start) == mapping.offset_of(mapping.start);
}

// Removes [start, end) and returns the position where a mapping of that range belongs.
std::size_t AddressSpace::cut(std::uint64_t start, std::uint64_t end) {
    Table& table = own();
    auto first = first_ending_after(table, start);
    if (first == table.end() || first->start >= end) return static_cast<std::size_t>(first - table.begin());

    if (first->start < start) {
        if (first->end > end) {  // the middle of one mapping
            Mapping rest = *first;
            rest.page_offset += end - rest.start;
            rest.start = end;
            first->end = start;
            const auto placed = table.insert(first + 1, std::move(rest));
            return static_cast<std::size_t>(placed - table.begin());
        }
        first->end = start;
        ++first;
    }
    auto last = first;
    while (last != table.end() && last->end <= end) ++last;
    if (last != table.end() && last->start < end) {
        last->page_offset += end - last->start;
        last->start = end;
    }
    const auto after = table.erase(first, last);
    return static_cast<std::size_t>(after - table.begin());
}

bool AddressSpace::map(const Mapping& mapping, std::size_t limit) {
    if (mapping.start >= mapping.end || knows(mapping)) return true;
    if (mappings().size() + 2 > limit) return false;
    const std::size_t at = cut(mapping.start, mapping.end);
    Table& table = *table_;
    if (at > 0 && continues(table[at - 1], mapping)) {
        table[at - 1].end = mapping.end;
        if (at < table.size() && continues(table[at - 1], table[at])) {
            table[at - 1].end = table[at].end;
            table.erase(table.begin() + static_cast<std::ptrdiff_t>(at));
        }
    } else if (at < table.size() && continues(mapping, table[at])) {
        table[at].start = mapping.start;
        table[at].page_offset = mapping.page_offset;
    } else {
        table.insert(table.begin() + static_cast<std::ptrdiff_t>(at), mapping);
    }
    return true;
}

bool AddressSpace::unmap(std::uint64_t start, std::uint64_t end, std::size_t limit) {
    if (!table_ || start >= end) return true;
    const auto found = first_ending_after(*table_, start);
    if (found == table_->end() || found->start >= end) return true;
    if (table_->size() + 1 > limit) return false;
    cut(start, end);
    return true;
}

}  // namespace perfvigil::collector
