// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/symbol_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::chrono::seconds kAwaitedLimit{2};  // that late debug files may cost at the start of a window

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

FileTableRef SymbolTables::load(const OpenedFile& file, const std::string& path) {
    const auto key = identity(file);
    if (const auto found = tables_.find(key); found != tables_.end()) return use(found->second);
    auto table = read(file, path);
    if (table != nullptr) tables_.emplace(key, table);
    return table == nullptr ? nullptr : use(std::move(table));
}

FileTableRef SymbolTables::use(FileTableRef table) {
    table->last_used = window_;
    return table;
}

FileTableRef SymbolTables::load_debug_alone(const OpenedFile& debug_file) {
    const auto key = identity(debug_file);
    if (const auto found = tables_.find(key); found != tables_.end()) return use(found->second);
    auto symbols = child_.read(debug_file.fd.get(), NameForm::kLinker);
    if (!symbols || symbols->state() != FileState::kFunctions) return nullptr;
    auto table = std::make_shared<FileTable>();
    table->symbols = std::move(*symbols);
    tables_.emplace(key, table);
    return use(std::move(table));
}

FileTableRef SymbolTables::read(const OpenedFile& file, const std::string& path) {
    auto table = std::make_shared<FileTable>();
    auto symbols = child_.read(file.fd.get(), NameForm::kLinker);
    if (!symbols) {
        if (!is_files_fault(std::move(symbols.error()))) return nullptr;
        table->reason = UnknownReason::kUnreadable;
        return table;
    }
    child_error_.reset();
    table->reason = reason_of(symbols->state());
    table->symbols = std::move(*symbols);
    const bool sound = table->reason == UnknownReason::kNone || table->reason == UnknownReason::kNoSymbols;
    if (!sound || table->has_symtab()) return table;
    const DebugWanted wanted{.build_id = file.build_id,
                             .path = path,
                             .root = file.root,
                             .link = std::string(table->symbols->debug_link()),
                             .crc = table->symbols->debug_link_crc()};
    switch (add_debug_file(wanted, *table)) {
        case Added::kDone: break;
        case Added::kNoChild: return nullptr;
        case Added::kLater:
            if (awaited_.size() < kMaxAwaited) awaited_.push_back({.table = table, .wanted = wanted, .since = window_});
            break;
    }
    return table;
}

SymbolTables::Added SymbolTables::add_debug_file(const DebugWanted& wanted, FileTable& table) {
    const auto candidates = debug_files_.find(wanted);
    if (!candidates) return candidates.error().code == ErrorCode::kBusy ? Added::kLater : Added::kDone;
    for (const auto& candidate : *candidates) {
        const int fd = candidate.file->fd.get();
        auto debug = candidate.by_checksum ? child_.read_linked_debug_file(fd, wanted.crc, NameForm::kLinker)
                                           : child_.read_debug_file(fd, NameForm::kLinker);
        if (!debug) {
            const bool other_file = debug.error().code == ErrorCode::kNotFound && candidate.by_checksum;
            if (!other_file && !is_files_fault(std::move(debug.error()))) return Added::kNoChild;
            continue;
        }
        if (debug->state() != FileState::kFunctions) continue;
        table.debug = std::move(*debug);
        table.reason = UnknownReason::kNone;
        break;
    }
    return Added::kDone;
}

std::optional<std::string_view> SymbolTables::shown(FileTable& table, std::string_view name) {
    if (!is_mangled(name)) return name;
    auto known = table.shown.find(name.data());
    if (known == table.shown.end()) {
        demangle(table, {name});
        known = table.shown.find(name.data());
    }
    return known == table.shown.end() ? std::nullopt : std::optional(known->second);
}

void SymbolTables::demangle(FileTable& table, const std::vector<std::string_view>& names) {
    std::vector<std::string_view> wanted;
    for (const auto name : names) {
        if (is_mangled(name) && table.shown.try_emplace(name.data()).second) wanted.push_back(name);
    }
    if (wanted.empty()) return;
    const auto answer = child_.demangled(wanted);
    const bool later = !answer && !is_files_fault(answer.error());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (later)
            table.shown.erase(wanted[i].data());
        else
            table.shown[wanted[i].data()] = table.shown_names.keep(answer ? (*answer)[i] : escape(wanted[i]));
    }
}

void SymbolTables::add_awaited() {
    const auto deadline = std::chrono::steady_clock::now() + kAwaitedLimit;
    std::erase_if(awaited_, [&](const Awaited& awaited) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        const auto table = awaited.table.lock();
        if (table == nullptr || window_ - awaited.since > kMaxAwaitedWindows) return true;
        return add_debug_file(awaited.wanted, *table) == Added::kDone;
    });
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
    add_awaited();
    shrink();
}

void SymbolTables::shrink() {
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
