// SPDX-License-Identifier: GPL-2.0-or-later
// The symbol tables of files, one per file however many paths and processes it has, read by the symbol child on demand.
// Bounded in bytes; the least recently used go, but only at begin_window(), for names are views into them. A file that
// could not be read is remembered as such: it must not end the child again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/symbols/debug_files.hpp"
#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/file_symbols.hpp"
#include "analyzer/symbols/name_pool.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "base/build_id.hpp"

namespace perfvigil::analyzer {

struct FileTable {
    std::optional<FileSymbols> symbols;  // empty: `reason` says why
    std::optional<FileSymbols> debug;  // of its separate debug file, in link addresses; where it has no .symtab itself
    UnknownReason reason = UnknownReason::kNone;
    std::uint64_t last_used = 0;  // number of the window

    // Names of functions are the linker's; those of C++ and Rust that were asked for, as they are shown. By where the
    // linker's stands in the table.
    boost::unordered_flat_map<const char*, std::string_view> shown{};
    NamePool shown_names{};

    // With `symbols`. By the debug file, else by what the file has itself.
    [[nodiscard]] std::optional<FileSymbols::Function> find(FileOffset offset) const;
    [[nodiscard]] bool has_symtab() const { return debug || (symbols && symbols->has_symtab()); }
    [[nodiscard]] std::size_t bytes() const {
        return (symbols ? symbols->bytes() : 0) + (debug ? debug->bytes() : 0) + shown_names.bytes();
    }
};
using FileTableRef = std::shared_ptr<FileTable>;

class SymbolTables {
public:
    SymbolTables(SymbolChild& child, std::size_t max_bytes, DebugFiles& debug_files)
        : child_(child), max_bytes_(max_bytes), debug_files_(debug_files) {}

    // What is known of the file with this build-id; null when nothing is.
    [[nodiscard]] FileTableRef find(const BuildId& build_id);
    // Reads the file, mapped as `path`, unless the same one was read before. Null: the child is not to be had now, ask
    // again later. A separate debug file that is still on its way is added in a later begin_window().
    [[nodiscard]] FileTableRef load(const OpenedFile& file, const std::string& path);
    // The table of a file of which only the separate debug file is there, if that says where its code lay. Null: it
    // does not, or cannot be read.
    [[nodiscard]] FileTableRef load_debug_alone(const OpenedFile& debug_file);

    // The name to show of a function of the table; nullopt: it is not to be had now, ask again later. Lives as long as
    // the table.
    [[nodiscard]] std::optional<std::string_view> shown(FileTable& table, std::string_view name);
    // Makes shown() ready for all of them: asking for a thousand takes hardly longer than for one.
    void demangle(FileTable& table, const std::vector<std::string_view>& names);

    // Tables over the limit go, those not used for the longest time first. `window` numbers what follows.
    void begin_window(std::uint64_t window);

    [[nodiscard]] std::size_t bytes() const;
    [[nodiscard]] std::size_t count() const { return tables_.size(); }
    [[nodiscard]] const std::optional<Error>& child_error() const { return child_error_; }

private:
    static constexpr std::size_t kMaxTables = 16384;
    static constexpr std::size_t kMaxAwaited = 512;
    static constexpr std::uint64_t kMaxAwaitedWindows = 10;
    struct Awaited {  // a table whose debug file is still on its way
        std::weak_ptr<FileTable> table;
        DebugWanted wanted;
        std::uint64_t since = 0;  // window
    };
    enum class Added : std::uint8_t { kDone, kLater, kNoChild };
    FileTableRef use(FileTableRef table);
    [[nodiscard]] FileTableRef read(const OpenedFile& file, const std::string& path);
    [[nodiscard]] Added add_debug_file(const DebugWanted& wanted, FileTable& table);
    void add_awaited();
    void shrink();
    [[nodiscard]] bool is_files_fault(Error error);

    SymbolChild& child_;
    std::size_t max_bytes_;
    DebugFiles& debug_files_;
    std::vector<Awaited> awaited_;
    std::uint64_t window_ = 0;
    // By build-id (hex) or, where the file has none, by device, inode, size and time.
    boost::unordered_flat_map<std::string, FileTableRef> tables_;
    std::optional<Error> child_error_;  // why the child cannot be started
};

}  // namespace perfvigil::analyzer
