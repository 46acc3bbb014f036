// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/processes.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace perfvigil::collector {
namespace {

constexpr Pid kSwapper{0};
constexpr Pid kKthreadd{2};
// The kernel's names are shorter (TASK_COMM_LEN 16); a file may claim anything.
constexpr std::size_t kMaxCommSize = 64;

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

std::string unnamed(Pid pid) { return ":" + std::to_string(pid.value); }

// Mappings of the kernel and of guests are told by pid and mode; perf's own records of user mappings may lack a mode.
bool is_user_mapping(const MmapRecord& mmap) {
    const std::uint16_t mode = mmap.misc & kMiscCpumodeMask;
    return mmap.pid.value >= 0 && (mode == kMiscUser || mode == 0);
}

bool is_loader(std::string_view path) {
    const auto name = path.substr(path.rfind('/') + 1);
    return name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld.so") ||
           name.starts_with("ld-2.");
}

}  // namespace

ProcessTable::ProcessTable(ProcessLimits limits, DsoListener* listener)
    : limits_(limits), listener_(listener), dsos_checked_at_(limits.max_dsos) {
    kernel_.image = std::make_shared<const Dso>(
        Dso{.id = DsoId{next_dso_++}, .kind = DsoKind::kKernel, .path = "[kernel.kallsyms]", .build_id = {}});
}

ProcessTable::~ProcessTable() = default;

void ProcessTable::apply(const Record& record) {
    std::visit(
        Overloaded{[this](const CommRecord& r) { apply_comm(r); }, [this](const MmapRecord& r) { apply_mmap(r); },
                   [this](const TaskRecord& r) { apply_task(r); }, [this](const CgroupRecord& r) { apply_cgroup(r); },
                   [this](const KsymbolRecord& r) { apply_ksymbol(r); },
                   [this](const OtherRecord& r) {
                       if (r.type == kRecordFinishedInit) finish_snapshot();
                   },
                   [](const auto&) {}},
        record);
}

// --- processes ---

ProcessTable::Entry* ProcessTable::lookup(Pid pid) const {
    const auto found = processes_.find(pid);
    return found == processes_.end() ? nullptr : found->second.get();
}

// A new life under this pid; an earlier one is forgotten.
ProcessTable::Entry& ProcessTable::create(Pid pid) {
    auto entry = std::make_unique<Entry>();
    entry->pid = pid;
    entry->epoch = ProcessEpoch{next_epoch_++};
    entry->life = next_life_++;
    entry->last_used = clock_;
    entry->kernel_thread = pid == kSwapper;
    entry->comm = pid == kSwapper ? "swapper" : unnamed(pid);
    Entry& made = *entry;
    processes_.insert_or_assign(pid, std::move(entry));
    return made;
}

Process& ProcessTable::process(Pid pid) {
    if (Entry* const known = lookup(pid)) {
        known->last_used = clock_;
        return *known;
    }
    make_room_for_process();
    Entry& made = create(pid);
    made.maps_incomplete = !made.kernel_thread;
    return made;
}

const Process* ProcessTable::find(Pid pid) const { return lookup(pid); }

// The process that a side-band record speaks of. A record of the main thread of an exited process means that the pid
// was given to another and its fork was not seen; one of another thread, that the process lives on without its leader.
ProcessTable::Entry& ProcessTable::named_by_record(Pid pid, Tid tid) {
    Entry* entry = lookup(pid);
    if (entry == nullptr) make_room_for_process();
    if (entry == nullptr || (entry->exited && tid.value == pid.value)) {
        entry = &create(pid);
        entry->maps_incomplete = entry->maps_to_come = !entry->kernel_thread;
    }
    entry->exited.reset();
    entry->heard = true;
    entry->last_used = clock_;
    return *entry;
}

void ProcessTable::make_room_for_process() {
    if (processes_.size() < limits_.max_processes) return;
    struct Candidate {
        bool alive;
        std::uint64_t age;  // time of death, else last use
        Pid pid;
    };
    std::vector<Candidate> all;
    all.reserve(processes_.size());
    for (const auto& [pid, entry] : processes_) {
        const std::optional<MonotonicTime> exited = entry->exited;
        all.push_back({!exited.has_value(), exited ? to_ns(*exited) : entry->last_used, pid});
    }
    const std::size_t count = std::min(batch_of(limits_.max_processes), all.size());
    const auto oldest_first = [](const Candidate& a, const Candidate& b) {
        return a.alive != b.alive ? b.alive : a.age < b.age;
    };
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count - 1), all.end(), oldest_first);
    for (std::size_t i = 0; i < count; ++i) processes_.erase(all[i].pid);
    dropped_ += count;
    sweep_threads();
}

void ProcessTable::forget_exited_before(MonotonicTime time) {
    bool threads_left = false;
    boost::unordered::erase_if(processes_, [&](const auto& item) {
        const Entry& entry = *item.second;
        if (!entry.exited || *entry.exited >= time) return false;
        threads_left |= entry.threads != 0;
        return true;
    });
    if (threads_left) sweep_threads();
}

void ProcessTable::mark_all_suspect() {
    for (const auto& [pid, entry] : processes_) {
        entry->maps_incomplete = !entry->kernel_thread;
        entry->maps_to_come = false;
    }
}

// A process without any mapping is one whose maps could not be read.
void ProcessTable::finish_snapshot() {
    for (const auto& [pid, entry] : processes_) {
        if (entry->heard && !entry->maps.mappings().empty()) entry->maps_incomplete = false;
    }
}

// --- threads ---

// The entry that holds this thread's own name; nullptr where the limit is reached.
ProcessTable::Thread* ProcessTable::name_thread(Entry& entry, Tid tid) {
    auto found = threads_.find(tid);
    if (found == threads_.end()) {
        if (threads_.size() >= limits_.max_threads) {
            ++dropped_;
            return nullptr;
        }
        found = threads_.emplace(tid, Thread{}).first;
    } else if (found->second.life != entry.life) {
        Entry* const former = lookup(found->second.pid);
        if (former != nullptr && former->life == found->second.life) --former->threads;
    }
    Thread& thread = found->second;
    if (thread.life != entry.life) {
        ++entry.threads;
        thread.pid = entry.pid;
        thread.life = entry.life;
        thread.comm.clear();
    }
    return &thread;
}

void ProcessTable::drop_thread(Tid tid, Pid pid) {
    const auto found = threads_.find(tid);
    if (found == threads_.end() || found->second.pid != pid) return;
    Entry* const entry = lookup(pid);
    if (entry != nullptr && entry->life == found->second.life) --entry->threads;
    threads_.erase(found);
}

// Threads whose EXIT was not seen go with their process.
void ProcessTable::sweep_threads() {
    boost::unordered::erase_if(threads_, [&](const auto& item) {
        const Entry* const entry = lookup(item.second.pid);
        return entry == nullptr || entry->life != item.second.life;
    });
}

std::string_view ProcessTable::comm(Pid pid, Tid tid) const {
    const Entry* const entry = lookup(pid);
    if (tid.value != pid.value) {
        const auto found = threads_.find(tid);
        const bool own = found != threads_.end() && found->second.pid == pid &&
                         (entry == nullptr || entry->life == found->second.life);
        if (own && !found->second.comm.empty()) return found->second.comm;
    }
    return entry == nullptr ? std::string_view{} : std::string_view(entry->comm);
}

// --- records ---

void ProcessTable::apply_comm(const CommRecord& comm) {
    ++clock_;
    const std::string_view name = comm.comm.substr(0, kMaxCommSize);
    Entry& entry = named_by_record(comm.pid, comm.tid);
    if (comm.by_exec) {  // the thread that executes is the main thread from now on
        entry.epoch = ProcessEpoch{next_epoch_++};
        entry.maps.clear();
        entry.placed_code.clear();
        entry.program.reset();
        entry.anonymous.reset();
        entry.kernel_thread = false;
        entry.maps_incomplete = entry.maps_to_come = false;
        entry.main_exited = false;
    }
    if (comm.tid.value == comm.pid.value) {
        entry.comm = name;
        if (comm.pid == kKthreadd && name == "kthreadd") {
            entry.kernel_thread = true;
            entry.maps_incomplete = entry.maps_to_come = false;
        }
    } else if (Thread* const thread = name_thread(entry, comm.tid)) {
        thread->comm = name;
    }
}

void ProcessTable::apply_task(const TaskRecord& task) {
    ++clock_;
    if (task.exit) {
        exit_task(task);
        return;
    }
    if (task.pid != task.parent_pid) {
        fork_process(task);
        return;
    }
    const bool unheard = lookup(task.pid) == nullptr;
    Entry& entry = named_by_record(task.pid, task.tid);
    if (unheard) entry.maps_to_come = false;  // it has run for a while
    if (task.tid.value == task.pid.value) return;
    const std::string inherited(comm(task.parent_pid, task.parent_tid));
    Thread* const thread = name_thread(entry, task.tid);
    if (thread != nullptr && thread->comm.empty()) thread->comm = inherited;
}

void ProcessTable::place_code(Pid pid, const Mapping& code) {
    Entry* const entry = lookup(pid);
    if (entry != nullptr && !entry->placed_code.map(code, limits_.max_placed_per_process)) ++dropped_;
}

void ProcessTable::fork_process(const TaskRecord& task) {
    if (task.fork_exec) {
        // Only snapshots of /proc say so. Of a process that is known they tell nothing new, unless it is suspect: then
        // what may have been unmapped meanwhile goes, and what is mapped follows.
        Entry* const known = lookup(task.pid);
        if (known != nullptr && !known->exited) {
            known->heard = true;
            if (known->maps_incomplete) known->maps.clear();
            return;
        }
    }
    if (lookup(task.pid) == nullptr) make_room_for_process();
    const Entry* const parent = lookup(task.parent_pid);
    const std::string inherited(comm(task.parent_pid, task.parent_tid));
    Entry& child = create(task.pid);
    child.heard = true;
    // Forks of kernel threads are kernel threads until they execute something; init is a child of the swapper.
    child.kernel_thread = parent != nullptr && parent->kernel_thread && task.parent_pid != kSwapper;
    if (task.fork_exec) {
        child.maps_incomplete = child.maps_to_come = !child.kernel_thread;
        return;
    }
    if (parent == nullptr) {
        child.maps_incomplete = true;
        return;
    }
    child.comm = inherited;
    child.maps = parent->maps;
    child.placed_code = parent->placed_code;
    child.program = parent->program;
    child.owner = parent->owner;
    child.maps_incomplete = parent->maps_incomplete;
}

void ProcessTable::exit_task(const TaskRecord& task) {
    Entry* const entry = lookup(task.pid);
    if (task.tid.value != task.pid.value) drop_thread(task.tid, task.pid);
    if (entry == nullptr) return;
    if (task.tid.value == task.pid.value) entry->main_exited = true;
    // The leader may go before its threads; unknown threads cannot be waited for.
    if (entry->main_exited && entry->threads == 0) entry->exited = task.time;
}

void ProcessTable::apply_mmap(const MmapRecord& mmap) {
    if (!is_user_mapping(mmap)) return;
    ++clock_;
    Entry& entry = named_by_record(mmap.pid, mmap.tid);
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - mmap.start;
    const std::uint64_t end = mmap.start + std::min(mmap.length, room);
    if (!mmap.executable()) {
        if (!entry.maps.unmap(mmap.start, end, limits_.max_mappings_per_process)) ++dropped_;
        return;
    }
    entry.kernel_thread = false;
    if (std::exchange(entry.maps_to_come, false)) entry.maps_incomplete = false;
    Mapping mapping{.start = mmap.start, .end = end, .page_offset = mmap.page_offset, .dso = dso_of(mmap, entry)};
    if (mapping.dso->kind == DsoKind::kVdso) mapping.page_offset = 0;
    // The kernel maps the program before its loader, and /proc lists it below all libraries.
    if (entry.program == nullptr && mapping.dso->kind == DsoKind::kFile && !is_loader(mapping.dso->path)) {
        entry.program = mapping.dso;
    }
    if (!entry.maps.map(mapping, limits_.max_mappings_per_process)) ++dropped_;
}

// --- cgroups ---

void ProcessTable::apply_cgroup(const CgroupRecord& cgroup) {
    ++clock_;
    if (!cgroups_.contains(cgroup.id)) make_room_for_cgroup();
    cgroups_.insert_or_assign(cgroup.id, Cgroup{std::string(cgroup.path.substr(0, kMaxPathSize)), clock_});
}

// Nothing tells when a cgroup is gone: the least recently used make room.
void ProcessTable::make_room_for_cgroup() {
    if (cgroups_.size() < limits_.max_cgroups) return;
    std::vector<std::pair<std::uint64_t, CgroupId>> all;
    all.reserve(cgroups_.size());
    for (const auto& [id, cgroup] : cgroups_) all.emplace_back(cgroup.last_used, id);
    const std::size_t count = std::min(batch_of(limits_.max_cgroups), all.size());
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count - 1), all.end());
    for (std::size_t i = 0; i < count; ++i) cgroups_.erase(all[i].second);
    dropped_ += count;
}

std::string_view ProcessTable::cgroup_path(CgroupId id) const {
    const auto found = cgroups_.find(id);
    if (found == cgroups_.end()) return {};
    found->second.last_used = clock_;
    return found->second.path;
}

}  // namespace perfvigil::collector
