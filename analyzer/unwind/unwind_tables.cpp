// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/unwind/unwind_tables.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analyzer/slice/hash_index.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kMostNamed = 5;  // files in a sentence

std::string identity(const OpenedFile& file) {
    if (!file.build_id.empty()) return file.build_id.hex();
    return fmt::format("{}:{}:{}:{}", file.device, file.inode, file.size, file.modified.time_since_epoch().count());
}

}  // namespace

UnwindTables::DsoState& UnwindTables::state_of(const collector::DsoRef& dso) {
    auto& state = dsos_[dso->id];
    if (state == nullptr) {
        state = std::make_unique<DsoState>();
        state->path = dso->path;
    }
    return *state;
}

const UnwindRule* UnwindTables::rule_at(const collector::DsoRef& dso, std::uint64_t offset, UnwindMachine machine) {
    Known& known = known_[mix(dso->id.value, offset) % kKnown];
    if (known.table == nullptr || known.dso != dso->id || known.offset != offset || known.machine != machine) {
        Table* table = nullptr;
        const UnwindRule* rule = find(dso, offset, machine, table);
        known = {.dso = dso->id, .machine = machine, .offset = offset, .rule = rule, .table = table};
        return rule;
    }
    known.table->last_used = sample_;
    return known.rule;
}

// `found`: the table of the file, where there is one; what it says stays so.
const UnwindRule* UnwindTables::find(const collector::DsoRef& dso, std::uint64_t offset, UnwindMachine machine,
                                     Table*& found) {
    DsoState& state = state_of(dso);
    if (!state.tried) load(*dso, state);
    if (state.table == nullptr) return nullptr;
    Table& table = *state.table;
    found = &table;
    table.last_used = sample_;
    if (!table.own || table.own->machine() != machine) return nullptr;
    const auto address = table.own->link_address(FileOffset{offset});
    if (!address) return nullptr;
    if (const UnwindRule* rule = table.own->find(*address)) return rule;
    if (!table.debug_tried) load_debug(table);
    return table.debug && table.debug->machine() == machine ? table.debug->find(*address) : nullptr;
}

void UnwindTables::guessed(const collector::DsoRef& dso) { ++state_of(dso).guessed; }
void UnwindTables::stopped(const collector::DsoRef& dso) { ++state_of(dso).stopped; }

void UnwindTables::next_sample() {
    ++sample_;
    if (bytes_ > max_bytes_) make_room();
}

void UnwindTables::load(const collector::Dso& dso, DsoState& state) {
    state.tried = true;
    const auto file = symbolizer_.file_of(dso);
    auto table = file ? table_of(**file) : fail(file.error());
    if (table) {
        state.table = std::move(*table);
        return;
    }
    state.why = table.error().message;
    // The child may be had again in a moment.
    state.tried = table.error().code != ErrorCode::kBusy;
}

Result<std::shared_ptr<UnwindTables::Table>> UnwindTables::table_of(const OpenedFile& file) {
    const auto key = identity(file);
    if (const auto known = tables_.find(key); known != tables_.end()) return known->second;
    auto unwind = child_.read_unwind(file.fd.get());
    if (!unwind && unwind.error().code != ErrorCode::kInvalid) return fail(std::move(unwind.error()));
    auto table = std::make_shared<Table>();
    table->build_id = file.build_id;
    if (unwind) table->own = std::move(*unwind);  // else: it is the file's fault, for good
    bytes_ += table->bytes();
    tables_.emplace(key, table);
    return table;
}

void UnwindTables::load_debug(Table& table) {
    table.debug_tried = true;
    if (table.build_id.empty()) return;
    const auto file = symbolizer_.debug_file_of(table.build_id);
    if (file == nullptr) return;
    auto unwind = child_.read_unwind(file->fd.get());
    if (!unwind) return;
    bytes_ += unwind->bytes();
    table.debug = std::move(*unwind);
}

// Down to three quarters, so that the search for the oldest is rare. Tables of the current sample stay.
void UnwindTables::make_room() {
    std::vector<std::pair<std::uint64_t, std::string>> by_age;
    for (const auto& [key, table] : tables_) {
        if (table->last_used + 1 < sample_) by_age.emplace_back(table->last_used, key);
    }
    std::ranges::sort(by_age);
    for (const auto& [age, key] : by_age) {
        if (bytes_ <= max_bytes_ / 4 * 3) break;
        const auto gone = tables_.find(key);
        bytes_ -= gone->second->bytes();
        for (auto& [id, state] : dsos_) {
            if (state->table != gone->second) continue;
            state->table = nullptr;
            state->tried = false;
        }
        tables_.erase(gone);
    }
    std::ranges::fill(known_, Known{});
}

std::vector<std::string> UnwindTables::sentences() const {
    std::vector<const DsoState*> missing;
    std::uint64_t guessed = 0;
    std::uint64_t stopped = 0;
    for (const auto& [id, state] : dsos_) {
        if (state->missed() == 0) continue;
        missing.push_back(state.get());
        guessed += state->guessed;
        stopped += state->stopped;
    }
    if (missing.empty()) return {};
    std::ranges::sort(missing, [](const DsoState* a, const DsoState* b) {
        return std::pair(b->missed(), std::string_view(a->path)) < std::pair(a->missed(), std::string_view(b->path));
    });
    std::string files;
    for (std::size_t i = 0; i < std::min(missing.size(), kMostNamed); ++i) {
        const DsoState& state = *missing[i];
        files += fmt::format("{}{} in {}{}", i > 0 ? ", " : "", state.missed(), escape(state.path),
                             state.why.empty() ? "" : " (" + escape(state.why) + ")");
    }
    if (missing.size() > kMostNamed) files += fmt::format(" and {} more files", missing.size() - kMostNamed);
    return {
        fmt::format("For want of an unwind table {} steps were guessed by frame pointer, and {} chains end early: {}.",
                    guessed, stopped, files)};
}

}  // namespace perfvigil::analyzer
