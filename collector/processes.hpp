// SPDX-License-Identifier: GPL-2.0-or-later
// Who ran where: processes, their threads' names and their executable mappings, as they stood at the time of the
// record that was applied last. Fed with records in time order, so a lookup answers for "now" in that order:
// fork copies the maps, exec clears them, a pid that comes again is another process.
// Knows no symbols. One thread owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/address_space.hpp"
#include "collector/kernel_space.hpp"
#include "collector/process_owner.hpp"
#include "collector/record.hpp"

namespace perfvigil::collector {

// Hears of every Dso the moment it is first mapped, so that its file can be opened while a process still holds it.
class DsoListener {
public:
    virtual ~DsoListener() = default;
    // `pid` maps it now. Called once for a Dso, and again for the next kDsoRetries processes that map it: where the
    // file could not be opened through the first, another may still hold it.
    virtual void on_dso_mapped(const DsoRef& dso, Pid pid) = 0;
};
inline constexpr unsigned kDsoRetries = 3;

using ProcessEpoch = StrongId<struct ProcessEpochTag, std::uint32_t>;  // unique: one life of one program image

struct Process {
    Pid pid{};
    ProcessEpoch epoch{};  // changes at fork, exec and pid reuse
    std::string comm;      // of the main thread
    AddressSpace maps;
    AddressSpace placed_code;  // ProcessTable::place_code: what lies where the maps have code without a file
    // The file that was executed: the first code that was mapped from a file, the loader passed over. Null: unknown.
    DsoRef program{};
    // As somebody who needs it read it (Exclusion), or its parent's; the table itself reads nothing.
    std::optional<ProcessOwner> owner{};
    bool kernel_thread = false;    // has no user mappings by nature (pid 0 included)
    bool maps_incomplete = false;  // first seen by a sample or by name only, or side-band records were lost since
    std::optional<MonotonicTime> exited;  // its last thread is gone

    // nullptr: no code we know of. The pointer lives until the next change.
    [[nodiscard]] const Mapping* code_at(std::uint64_t address) const {
        const Mapping* const mapping = maps.find(address);
        if (mapping == nullptr || mapping->dso->kind != DsoKind::kAnonymous) return mapping;
        const Mapping* const placed = placed_code.find(address);
        return placed != nullptr ? placed : mapping;
    }
};

// Beyond a limit the longest-dead, then the least recently used are dropped and counted.
struct ProcessLimits {
    std::size_t max_processes = 65536;
    std::size_t max_threads = 262144;  // that have a name of their own; beyond it names are not learnt
    std::size_t max_mappings_per_process = 16384;
    std::size_t max_placed_per_process = 131072;  // place_code
    std::size_t max_cgroups = 16384;
    std::size_t max_kernel_code = 16384;  // BPF programs and trampolines at a time
    std::size_t max_dsos = 8192;          // beyond it those that nobody maps or holds are forgotten
};

class ProcessTable {
public:
    explicit ProcessTable(ProcessLimits limits = {}, DsoListener* listener = nullptr);
    ~ProcessTable();
    ProcessTable(const ProcessTable&) = delete;
    ProcessTable& operator=(const ProcessTable&) = delete;

    // Applies COMM, MMAP, MMAP2, FORK, EXIT, CGROUP and KSYMBOL records; ignores others.
    // A snapshot of /proc consists per process of FORK (with kMiscForkExec; it tells kernel threads, and that what
    // follows is all that is mapped), COMM and MMAPs, and ends with FINISHED_INIT, which ends suspicion.
    void apply(const Record& record);

    // From now on the process's memory without a file holds, in this range, code of that Dso. Mappings of such memory
    // do not end it: run times write-protect and unprotect their code all the time, and each time the kernel says that
    // it was mapped. Exec does, and other code placed there.
    void place_code(Pid pid, const Mapping& code);

    // The process as of now, created (comm ":PID", maps_incomplete) when never heard of. Lives until the next call of
    // apply(), process() or forget_exited_before().
    [[nodiscard]] Process& process(Pid pid);
    [[nodiscard]] const Process* find(Pid pid) const;
    // The thread's own name, else its process's; empty where neither is known. The view lives as long.
    [[nodiscard]] std::string_view comm(Pid pid, Tid tid) const;
    // Path of a cgroup relative to its hierarchy's root ("/system.slice/x.service"); empty where unknown.
    [[nodiscard]] std::string_view cgroup_path(CgroupId id) const;

    // The Dso that stands for the kernel and all modules.
    [[nodiscard]] const DsoRef& kernel() const { return kernel_.image; }
    [[nodiscard]] const KernelSpace& kernel_space() const { return kernel_; }

    // Exited processes stay until this is called with a later time: samples of their last moments may still come.
    void forget_exited_before(MonotonicTime time);
    // Side-band records were lost: maps are suspect until a snapshot has been applied again.
    void mark_all_suspect();

    [[nodiscard]] std::size_t process_count() const { return processes_.size(); }
    [[nodiscard]] std::size_t thread_count() const { return threads_.size(); }  // with a name of their own
    [[nodiscard]] std::size_t dso_count() const { return dsos_.size(); }        // anonymous ones not counted
    // Processes, mappings, thread names and cgroups that a limit cost.
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
    [[nodiscard]] std::uint64_t dsos_forgotten() const { return dsos_forgotten_; }

    // The processes whose state a capture must hold before their first sample in it, the just exited included.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [pid, entry] : processes_) visit(static_cast<const Process&>(*entry));
    }
    template <class Visit>
    void for_each(Visit&& visit) {
        for (auto& [pid, entry] : processes_) visit(static_cast<Process&>(*entry));
    }

private:
    struct Entry : Process {
        std::uint64_t last_used = 0;  // of clock_
        std::uint32_t life = 0;       // unique; unlike the epoch it survives exec
        std::uint32_t threads = 0;    // of threads_ that belong to this life
        bool main_exited = false;
        bool heard = false;         // a side-band record named it
        bool maps_to_come = false;  // it was named by what precedes its mappings in a snapshot
        DsoRef anonymous;           // all code of this image without a file
    };
    struct Thread {
        Pid pid{};
        std::uint32_t life = 0;
        std::string comm;
    };
    struct Cgroup {
        std::string path;
        mutable std::uint64_t last_used = 0;
    };

    // What tells Dsos apart. The kernel records a build-id only when the page of the note was resident, so one file may
    // come with and without it: that makes two Dsos, and consumers that open the file find out that they are one.
    struct DsoKey {
        DsoKind kind = DsoKind::kFile;
        std::string_view path;
        BuildId build_id;
        std::uint32_t major = 0;
        std::uint32_t minor = 0;
        std::uint64_t inode = 0;
        std::uint64_t inode_generation = 0;

        friend bool operator==(const DsoKey&, const DsoKey&) = default;
    };
    struct DsoHash {
        using is_transparent = void;
        using is_avalanching = void;
        std::size_t operator()(const DsoKey& key) const noexcept;
        std::size_t operator()(const DsoRef& dso) const noexcept { return (*this)(key_of(*dso)); }
    };
    struct DsoEqual {
        using is_transparent = void;
        bool operator()(const DsoKey& a, const DsoRef& b) const noexcept { return a == key_of(*b); }
        bool operator()(const DsoRef& a, const DsoKey& b) const noexcept { return key_of(*a) == b; }
        bool operator()(const DsoRef& a, const DsoRef& b) const noexcept { return key_of(*a) == key_of(*b); }
    };
    struct DsoState {
        std::uint8_t retries = kDsoRetries;
        Pid last_pid{};  // the process it was announced for last
    };
    [[nodiscard]] static DsoKey key_of(const Dso& dso);

    static constexpr std::size_t kMaxPathSize = 4096;  // PATH_MAX; a file may claim anything
    // How many to drop at a limit: in batches, so that the search for them is paid rarely.
    [[nodiscard]] static std::size_t batch_of(std::size_t limit) { return limit / 16 + 1; }

    void apply_comm(const CommRecord& comm);
    void apply_task(const TaskRecord& task);
    void apply_mmap(const MmapRecord& mmap);
    void apply_cgroup(const CgroupRecord& cgroup);
    void apply_ksymbol(const KsymbolRecord& symbol);
    void fork_process(const TaskRecord& task);
    void exit_task(const TaskRecord& task);
    void finish_snapshot();

    Entry* lookup(Pid pid) const;
    Entry& create(Pid pid);
    Entry& named_by_record(Pid pid, Tid tid);
    Thread* name_thread(Entry& entry, Tid tid);
    void drop_thread(Tid tid, Pid pid);
    void sweep_threads();
    void make_room_for_process();
    void make_room_for_cgroup();
    [[nodiscard]] DsoRef dso_of(const MmapRecord& mmap, Entry& entry);
    [[nodiscard]] DsoRef anonymous_dso(Entry& entry);
    [[nodiscard]] DsoRef intern(const DsoKey& key, Pid pid);

    ProcessLimits limits_;
    DsoListener* listener_;
    KernelSpace kernel_;
    boost::unordered_flat_map<Pid, std::unique_ptr<Entry>> processes_;
    boost::unordered_flat_map<Tid, Thread> threads_;  // all but main threads
    boost::unordered_flat_map<CgroupId, Cgroup> cgroups_;
    boost::unordered_flat_map<DsoRef, DsoState, DsoHash, DsoEqual> dsos_;
    std::size_t dsos_checked_at_ = 0;  // the size from which on the unused are looked for
    std::uint64_t clock_ = 0;          // counts side-band records; the time of last_used
    std::uint32_t next_epoch_ = 1;
    std::uint32_t next_life_ = 1;
    std::uint32_t next_dso_ = 1;
    std::uint64_t dropped_ = 0;
    std::uint64_t dsos_forgotten_ = 0;
};

}  // namespace perfvigil::collector
