// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/symbol_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace perfvigil::analyzer {
namespace {

std::string identity(const OpenedFile& file) {
    if (!file.build_id.empty()) return file.build_id.hex();
    return fmt::format("{}:{}:{}:{}", file.device, file.inode, file.size, file.modified.time_since_epoch().count());
}

UnknownReason reason_of(FileState state) {
    switch (state) {
        case FileState::kFunctions: return UnknownReason::kNone;
        case FileState::kStripped: return UnknownReason::kNoSymbols;
        case FileState::kNotElf:
        case FileState::kDamaged: break;
    }
    return UnknownReason::kUnreadable;
}

}  // namespace

FileTableRef SymbolTables::find(const BuildId& build_id) {
    if (build_id.empty()) return nullptr;
    const auto found = tables_.find(build_id.hex());
    return found == tables_.end() ? nullptr : use(found->second);
}

FileTableRef SymbolTables::load(const OpenedFile& file) {
    const auto key = identity(file);
    if (const auto found = tables_.find(key); found != tables_.end()) return use(found->second);
    auto table = read(file);
    if (table != nullptr) tables_.emplace(key, table);
    return table == nullptr ? nullptr : use(std::move(table));
}

FileTableRef SymbolTables::use(FileTableRef table) {
    table->last_used = window_;
    return table;
}

FileTableRef SymbolTables::read(const OpenedFile& file) {
    auto table = std::make_shared<FileTable>();
    auto symbols = child_.read(file.fd.get());
    if (symbols) {
        child_error_.reset();
        table->reason = reason_of(symbols->state());
        table->symbols = std::move(*symbols);
        return table;
    }
    const auto code = symbols.error().code;
    if (code != ErrorCode::kInvalid) {
        if (code != ErrorCode::kBusy && code != ErrorCode::kCancelled) child_error_ = std::move(symbols.error());
        return nullptr;
    }
    table->reason = UnknownReason::kUnreadable;
    return table;
}

std::size_t SymbolTables::bytes() const {
    std::size_t sum = 0;
    for (const auto& [key, table] : tables_) sum += table->bytes();
    return sum;
}

void SymbolTables::begin_window(std::uint64_t window) {
    window_ = window;
    auto total = bytes();
    if (total <= max_bytes_ && tables_.size() <= kMaxTables) return;
    std::vector<std::pair<std::uint64_t, std::string>> by_age;
    for (const auto& [key, table] : tables_) by_age.emplace_back(table->last_used, key);
    std::ranges::sort(by_age);
    for (const auto& [age, key] : by_age) {
        if (total <= max_bytes_ && tables_.size() <= kMaxTables) break;
        const auto found = tables_.find(key);
        total -= found->second->bytes();
        tables_.erase(found);
    }
}

}  // namespace perfvigil::analyzer
