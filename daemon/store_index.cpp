// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/store_index.hpp"

#include <sqlite3.h>

#include <array>
#include <filesystem>
#include <string_view>

namespace perfvigil::daemon {
namespace {

constexpr int kVersion = 3;
// Nobody else writes; another reader (a person with sqlite3) may hold the file for a moment.
constexpr int kBusyMilliseconds = 1000;
constexpr std::array<std::string_view, 4> kSuffixes{"", "-wal", "-shm", "-journal"};

struct CloseDatabase {
    void operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }
};
struct Finalize {
    void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Error sqlite_error(sqlite3* database, std::string_view what) {
    const int code = ::sqlite3_errcode(database);
    const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
    return Error{damaged ? ErrorCode::kInvalid : ErrorCode::kIo, ::sqlite3_system_errno(database),
                 std::string(what) + ": " + ::sqlite3_errmsg(database)};
}

Result<void> execute(sqlite3* database, const char* sql) {
    if (::sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return fail(sqlite_error(database, sql));
    return {};
}

Result<Statement> prepare(sqlite3* database, std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    if (::sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
        return fail(sqlite_error(database, sql));
    }
    return Statement(statement);
}

std::string_view column_text(sqlite3_stmt* row, int column) {
    const auto* text = reinterpret_cast<const char*>(::sqlite3_column_text(row, column));
    return text == nullptr ? std::string_view{}
                           : std::string_view(text, static_cast<std::size_t>(::sqlite3_column_bytes(row, column)));
}

Result<std::string> single_text(sqlite3* database, std::string_view sql) {
    auto statement = prepare(database, sql);
    if (!statement) return fail(std::move(statement.error()));
    if (::sqlite3_step(statement->get()) != SQLITE_ROW) return fail(sqlite_error(database, sql));
    return std::string(column_text(statement->get(), 0));
}

// A new file gets the schema; an old one must be whole and of this version.
Result<void> check_schema(sqlite3* database) {
    if (auto mode = single_text(database, "PRAGMA journal_mode=WAL"); !mode) return fail(std::move(mode.error()));
    // A power cut may cost the last rows; the files bring them back.
    if (auto done = execute(database, "PRAGMA synchronous=NORMAL"); !done) return done;
    const auto check = single_text(database, "PRAGMA quick_check(1)");
    if (!check) return fail(check.error());
    if (*check != "ok") return fail(ErrorCode::kInvalid, "the index is damaged: " + *check);
    const auto version = single_text(database, "PRAGMA user_version");
    if (!version) return fail(version.error());
    if (*version != "0" && *version != std::to_string(kVersion)) {
        return fail(ErrorCode::kInvalid, "the index has version " + *version);
    }
    if (auto made = execute(database,
                            "CREATE TABLE IF NOT EXISTS window("
                            "id TEXT PRIMARY KEY, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,"
                            "duration_ns INTEGER NOT NULL, samples INTEGER NOT NULL, lost INTEGER NOT NULL,"
                            "bytes INTEGER NOT NULL, partial INTEGER NOT NULL, parts TEXT NOT NULL,"
                            "recorded_ns INTEGER NOT NULL, busy_ns INTEGER NOT NULL) WITHOUT ROWID");
        !made) {
        return made;
    }
    return execute(database, ("PRAGMA user_version=" + std::to_string(kVersion)).c_str());
}

WallTime wall(std::int64_t ns) { return WallTime(Nanoseconds(ns)); }

}  // namespace

struct StoreIndex::State {
    Database database;
    Statement insert;
    Statement remove;

    Result<void> run(const Statement& statement, std::string_view what) const {
        const int result = ::sqlite3_step(statement.get());
        Result<void> outcome;
        if (result != SQLITE_DONE) outcome = fail(sqlite_error(database.get(), what));
        ::sqlite3_reset(statement.get());
        return outcome;
    }
};

StoreIndex::StoreIndex(std::unique_ptr<State> state) : state_(std::move(state)) {}
StoreIndex::StoreIndex(StoreIndex&&) noexcept = default;
StoreIndex& StoreIndex::operator=(StoreIndex&&) noexcept = default;
StoreIndex::~StoreIndex() = default;

Result<StoreIndex> StoreIndex::open(const std::string& path) {
    sqlite3* raw = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    const int opened = ::sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
    auto state = std::make_unique<State>();
    state->database.reset(raw);
    if (raw == nullptr) return fail(ErrorCode::kExhausted, path + ": out of memory");
    if (opened != SQLITE_OK) return fail(sqlite_error(raw, path));
    ::sqlite3_busy_timeout(raw, kBusyMilliseconds);
    if (auto checked = check_schema(raw); !checked) return fail(std::move(checked.error()).at(path));

    auto insert = prepare(raw, "INSERT OR REPLACE INTO window VALUES(?,?,?,?,?,?,?,?,?,?,?)");
    if (!insert) return fail(ErrorCode::kInvalid, path + ": " + insert.error().message);
    auto remove = prepare(raw, "DELETE FROM window WHERE id=?");
    if (!remove) return fail(ErrorCode::kInvalid, path + ": " + remove.error().message);
    state->insert = std::move(*insert);
    state->remove = std::move(*remove);
    return StoreIndex(std::move(state));
}

void StoreIndex::remove_files(const std::string& path) {
    std::error_code ignored;
    for (const auto suffix : kSuffixes) std::filesystem::remove(path + std::string(suffix), ignored);
}

std::uint64_t StoreIndex::file_bytes(const std::string& path) {
    std::uint64_t sum = 0;
    for (const auto suffix : kSuffixes) {
        std::error_code error;
        const auto size = std::filesystem::file_size(path + std::string(suffix), error);
        if (!error) sum += size;
    }
    return sum;
}

Result<std::vector<WindowInfo>> StoreIndex::all() {
    sqlite3* database = state_->database.get();
    auto statement =
        prepare(database,
                "SELECT id,start_ns,end_ns,duration_ns,samples,lost,bytes,partial,parts,recorded_ns,busy_ns "
                "FROM window ORDER BY end_ns,id");
    if (!statement) return fail(std::move(statement.error()));
    std::vector<WindowInfo> windows;
    sqlite3_stmt* row = statement->get();
    int result = ::sqlite3_step(row);
    for (; result == SQLITE_ROW; result = ::sqlite3_step(row)) {
        windows.push_back({.id = std::string(column_text(row, 0)),
                           .start = wall(::sqlite3_column_int64(row, 1)),
                           .end = wall(::sqlite3_column_int64(row, 2)),
                           .duration = Nanoseconds(::sqlite3_column_int64(row, 3)),
                           .samples = static_cast<std::uint64_t>(::sqlite3_column_int64(row, 4)),
                           .lost = static_cast<std::uint64_t>(::sqlite3_column_int64(row, 5)),
                           .bytes = static_cast<std::uint64_t>(::sqlite3_column_int64(row, 6)),
                           .partial = ::sqlite3_column_int(row, 7) != 0,
                           .parts = std::string(column_text(row, 8)),
                           .recorded = Nanoseconds(::sqlite3_column_int64(row, 9)),
                           .busy = Nanoseconds(::sqlite3_column_int64(row, 10))});
    }
    if (result != SQLITE_DONE) return fail(sqlite_error(database, "reading the index"));
    return windows;
}

Result<void> StoreIndex::insert(const WindowInfo& window) {
    sqlite3_stmt* statement = state_->insert.get();
    const auto number = [&](int position, std::int64_t value) { ::sqlite3_bind_int64(statement, position, value); };
    // Bound texts are used before this function ends.
    ::sqlite3_bind_text(statement, 1, window.id.data(), static_cast<int>(window.id.size()), nullptr);
    number(2, window.start.time_since_epoch().count());
    number(3, window.end.time_since_epoch().count());
    number(4, window.duration.count());
    number(5, static_cast<std::int64_t>(window.samples));
    number(6, static_cast<std::int64_t>(window.lost));
    number(7, static_cast<std::int64_t>(window.bytes));
    number(8, window.partial ? 1 : 0);
    ::sqlite3_bind_text(statement, 9, window.parts.data(), static_cast<int>(window.parts.size()), nullptr);
    number(10, window.recorded.count());
    number(11, window.busy.count());
    return state_->run(state_->insert, "index of " + window.id);
}

Result<void> StoreIndex::remove(const std::string& id) {
    ::sqlite3_bind_text(state_->remove.get(), 1, id.data(), static_cast<int>(id.size()), nullptr);
    return state_->run(state_->remove, "index without " + id);
}

}  // namespace perfvigil::daemon
