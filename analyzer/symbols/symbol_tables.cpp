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
    if (!symbols) {
        if (!is_files_fault(std::move(symbols.error()))) return nullptr;
        table->reason = UnknownReason::kUnreadable;
        return table;
    }
    child_error_.reset();
    table->reason = reason_of(symbols->state());
    table->symbols = std::move(*symbols);
    return add_debug_file(file, *table) ? table : nullptr;
}

bool SymbolTables::add_debug_file(const OpenedFile& file, FileTable& table) {
    const bool sound = table.reason == UnknownReason::kNone || table.reason == UnknownReason::kNoSymbols;
    if (!sound || table.has_symtab() || !debug_files_) return true;
    const auto debug_file = debug_files_(file.build_id);
    if (debug_file == nullptr) return true;
    auto debug = child_.read_debug_file(debug_file->fd.get());
    if (!debug) return is_files_fault(std::move(debug.error()));
    if (debug->state() != FileState::kFunctions) return true;
    table.debug = std::move(*debug);
    table.reason = UnknownReason::kNone;
    return true;
}

// Else it is the child's, which is remembered unless it will pass.
bool SymbolTables::is_files_fault(Error error) {
    if (error.code == ErrorCode::kInvalid) return true;
    if (error.code != ErrorCode::kBusy && error.code != ErrorCode::kCancelled) child_error_ = std::move(error);
    return false;
}

std::optional<FileSymbols::Function> FileTable::find(FileOffset offset) const {
    if (const auto address = debug ? symbols->link_address(offset) : std::nullopt) {
        if (auto function = debug->find(FileOffset{address->value})) {
            function->start.value = offset.value - (address->value - function->start.value);
            return function;
        }
    }
    return symbols->find(offset);
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
