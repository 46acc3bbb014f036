// SPDX-License-Identifier: GPL-2.0-or-later
// Who ran where: processes, their threads' names and their executable mappings, as they stood at the time of the
// record that was applied last. Fed with records in time order, so a lookup answers for "now" in that order:
// fork copies the maps, exec clears them, a pid that comes again is another process.
// Knows no symbols. One thread owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/build_id.hpp"
#include "base/ids.hpp"
#include "collector/record.hpp"

namespace perfvigil::collector {

using DsoId = StrongId<struct DsoIdTag, std::uint32_t>;  // unique within the program's life, dense from 1

enum class DsoKind : std::uint8_t {
    kFile,      // an ELF file, offsets are file offsets
    kKernel,    // the running kernel and its modules together, offsets are runtime addresses
    kVdso,      // offsets are relative to the image's start
    kVsyscall,  // fixed page, offsets are runtime addresses
    kAnonymous,  // code without a file (JIT), one Dso per process, offsets are runtime addresses
    kUprobes,
};

// One thing that code comes from. Immutable after creation; shared by every process that maps it.
struct Dso {
    DsoId id{};
    DsoKind kind = DsoKind::kFile;
    std::string path;  // as mapped, "(deleted)" kept; "[kernel.kallsyms]", "[vdso]", "//anon"
    BuildId build_id;  // empty: not known from the record
    std::uint32_t major = 0;  // device and inode, 0 where the record had a build-id instead
    std::uint32_t minor = 0;
    std::uint64_t inode = 0;
    Pid first_pid{};  // a process that mapped it; for kAnonymous: the process whose code it is
};
using DsoRef = std::shared_ptr<const Dso>;

// Hears of every Dso the moment it is first mapped, so that its file can be opened while a process still holds it.
class DsoListener {
public:
    virtual ~DsoListener() = default;
    // `pid` maps it now. Called once for a Dso, and again (up to a few times) when further processes map it while it
    // has no file yet: see ProcessTable::note_unopened.
    virtual void on_dso_mapped(const DsoRef& dso, Pid pid) = 0;
};

struct Mapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // exclusive
    std::uint64_t page_offset = 0;
    DsoRef dso;

    // Where `address` lies in the Dso, by its kind's rule.
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t address) const;
};

// Executable mappings of one process, sorted by start, never overlapping (a later mmap cuts earlier ones).
class AddressSpace {
public:
    void map(Mapping mapping);
    void clear() { mappings_.clear(); }
    [[nodiscard]] const Mapping* find(std::uint64_t address) const;
    [[nodiscard]] const std::vector<Mapping>& mappings() const { return mappings_; }

private:
    std::vector<Mapping> mappings_;
};

using ProcessEpoch = StrongId<struct ProcessEpochTag, std::uint32_t>;  // unique: one life of one program image

struct Process {
    Pid pid{};
    ProcessEpoch epoch{};  // changes at fork, exec and pid reuse
    std::string comm;      // of the main thread
    AddressSpace maps;
    bool kernel_thread = false;  // has no user mappings by nature (pid 0 included)
    bool maps_incomplete = false;  // first seen by a sample, or side-band records were lost since
};

struct ProcessLimits {
    std::size_t max_processes = 65536;  // beyond it the longest-dead, then the least recently used, are dropped
    std::size_t max_mappings_per_process = 16384;
};

class ProcessTable {
public:
    explicit ProcessTable(ProcessLimits limits = {}, DsoListener* listener = nullptr);

    // Applies COMM, MMAP, MMAP2, FORK, EXIT and CGROUP records; ignores others.
    void apply(const Record& record);

    // The process as of now, created (comm ":PID", maps_incomplete) when never heard of.
    [[nodiscard]] Process& process(Pid pid);
    [[nodiscard]] const Process* find(Pid pid) const;
    // The thread's own name, else its process's. The view lives until the next apply().
    [[nodiscard]] std::string_view comm(Pid pid, Tid tid) const;
    // Path of a cgroup relative to its hierarchy's root ("/system.slice/x.service"); empty where unknown.
    [[nodiscard]] std::string_view cgroup_path(CgroupId id) const;

    // The Dso that stands for the kernel and all modules.
    [[nodiscard]] const DsoRef& kernel() const { return kernel_; }

    // Exited processes stay until this is called with a later time: samples of their last moments may still come.
    void forget_exited_before(MonotonicTime time);
    // Side-band records were lost: maps are suspect until a snapshot has been applied again.
    void mark_all_suspect();

    [[nodiscard]] std::size_t process_count() const { return processes_.size(); }
    [[nodiscard]] std::size_t dso_count() const { return dsos_.size(); }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

    // The live processes whose state a capture must hold before their first sample in it.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [pid, process] : processes_) visit(*process);
    }

private:
    struct Thread {
        Pid pid{};
        std::string comm;
    };
    DsoRef intern(const MmapRecord& mmap);

    ProcessLimits limits_;
    DsoListener* listener_;
    DsoRef kernel_;
    boost::unordered_flat_map<Pid, std::unique_ptr<Process>> processes_;
    boost::unordered_flat_map<Tid, Thread> threads_;
    boost::unordered_flat_map<CgroupId, std::string> cgroups_;
    boost::unordered_flat_map<std::string, DsoRef> dsos_;  // key: kind, path, build-id or device and inode, pid
    std::uint32_t next_epoch_ = 1;
    std::uint32_t next_dso_ = 1;
    std::uint64_t dropped_ = 0;
};

}  // namespace perfvigil::collector
