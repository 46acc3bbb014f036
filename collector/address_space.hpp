// SPDX-License-Identifier: GPL-2.0-or-later
// What code is mapped where in one process, and the files it comes from. Knows no processes and no symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/build_id.hpp"
#include "base/ids.hpp"

namespace perfvigil::collector {

using DsoId = StrongId<struct DsoIdTag, std::uint32_t>;  // unique within the program's life, from 1

enum class DsoKind : std::uint8_t {
    kFile,        // an ELF file, offsets are file offsets
    kKernel,      // the running kernel and its modules together, offsets are runtime addresses
    kVdso,        // offsets are relative to the image's start
    kVsyscall,    // fixed page, offsets are runtime addresses
    kAnonymous,   // code without a file (JIT), one Dso per process, offsets are runtime addresses
    kUprobes,     // the kernel's copies of probed instructions, offsets are runtime addresses
    kKernelCode,  // one piece of code that the kernel made: `function` at `start`; offsets are runtime addresses
};

// One thing that code comes from. Immutable after creation; shared by every process that maps it.
struct Dso {
    DsoId id{};
    DsoKind kind = DsoKind::kFile;
    std::string path;         // as mapped, "(deleted)" kept; "[kernel.kallsyms]", "[vdso]", "//anon"
    BuildId build_id;         // empty: not known from the record
    std::uint32_t major = 0;  // device and inode, 0 where the record had a build-id instead
    std::uint32_t minor = 0;
    std::uint64_t inode = 0;
    std::uint64_t inode_generation = 0;
    Pid first_pid{};  // a process that mapped it; for kAnonymous: the process whose code it is
    // kKernelCode alone; its path is what it is one of: "[bpf]", "[ftrace]", "[kprobes]".
    std::string function{};
    std::uint64_t start = 0;
    std::uint64_t size = 0;
};
using DsoRef = std::shared_ptr<const Dso>;

// The kind of what a MMAP record calls `path`. perf's names: "[vdso]", "//anon", "/memfd:x (deleted)", …
// A mapping with a build-id is of an ELF file, whatever its name (runc executes a memfd).
[[nodiscard]] DsoKind dso_kind_of(std::string_view path, const BuildId& build_id, std::uint32_t map_flags);

struct Mapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // exclusive
    std::uint64_t page_offset = 0;
    DsoRef dso;

    [[nodiscard]] bool holds(std::uint64_t address) const { return address >= start && address < end; }
    // Where `address` lies in the Dso, by its kind's rule.
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t address) const {
        const bool by_file = dso->kind == DsoKind::kFile || dso->kind == DsoKind::kVdso;
        return by_file ? address - start + page_offset : address;
    }
};

// Executable mappings of one process, sorted by start, never overlapping (a later mmap cuts earlier ones; neighbours
// that continue each other are one). A copy shares the table until one of the two changes, so a fork costs nothing.
class AddressSpace {
public:
    // False: there are `limit` mappings already; nothing was changed.
    bool map(const Mapping& mapping, std::size_t limit = SIZE_MAX);
    // Forgets what lies in [start, end): something that is not code is there now. False as for map().
    bool unmap(std::uint64_t start, std::uint64_t end, std::size_t limit = SIZE_MAX);
    void clear() { table_.reset(); }

    // nullptr: no code we know of. The pointer lives until the next change.
    [[nodiscard]] const Mapping* find(std::uint64_t address) const {
        if (!table_) return nullptr;
        const Table& table = *table_;
        if (last_ < table.size() && table[last_].holds(address)) return &table[last_];
        return search(address);
    }
    [[nodiscard]] const std::vector<Mapping>& mappings() const;

private:
    using Table = std::vector<Mapping>;

    [[nodiscard]] const Mapping* search(std::uint64_t address) const;
    [[nodiscard]] bool knows(const Mapping& mapping) const;
    Table& own();
    std::size_t cut(std::uint64_t start, std::uint64_t end);

    std::shared_ptr<Table> table_;  // shared with copies; changed only by its sole owner
    mutable std::size_t last_ = 0;  // where the last search ended: callers and callees lie close together
};

}  // namespace perfvigil::collector
