// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/state_on_first_use.hpp"

#include <string>

#include "collector/record_append.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::uint32_t kProtReadExec = 1 | 4;
constexpr std::uint32_t kMapPrivate = 2;

// The name the table gives a process that no record has named.
bool is_placeholder(std::string_view comm, Pid pid) { return comm.empty() || comm == ":" + std::to_string(pid.value); }

}  // namespace

void StateOnFirstUse::before(const OrderedRecord& record, std::vector<std::byte>& out) {
    if (const auto* sample = std::get_if<SampleRecord>(&record.record)) {
        before_sample(*sample, record.time, out);
    } else if (const auto* comm = std::get_if<CommRecord>(&record.record)) {
        note_comm(*comm);
    } else if (const auto* task = std::get_if<TaskRecord>(&record.record)) {
        note_task(*task);
    } else if (const auto* cgroup = std::get_if<CgroupRecord>(&record.record)) {
        cgroups_told_.insert(cgroup->id);
    }
}

void StateOnFirstUse::before_sample(const SampleRecord& sample, MonotonicTime time, std::vector<std::byte>& out) {
    const Pid pid = sample.sample.pid;
    const Tid tid = sample.sample.tid;
    if (sample.cgroup.value != 0 && cgroups_told_.insert(sample.cgroup).second) {
        const auto path = processes_.cgroup_path(sample.cgroup);
        if (!path.empty()) append_record(CgroupRecord{stamp(pid, tid, time), sample.cgroup, path}, layout_, out);
    }
    if (pid.value <= 0) return;  // the idle task, which everyone knows; or a task that was gone already
    const Process* process = processes_.find(pid);
    if (process == nullptr) return;
    if (!told(*process)) write_process(*process, time, out);
    if (tid.value == pid.value) return;
    const auto [thread, first] = threads_told_.try_emplace(tid, process->epoch);
    if (!first && thread->second == process->epoch) return;
    thread->second = process->epoch;
    write_comm(pid, tid, processes_.comm(pid, tid), time, out);
}

bool StateOnFirstUse::told(const Process& process) const {
    const auto known = processes_told_.find(process.pid);
    return known != processes_told_.end() && known->second == process.epoch;
}

void StateOnFirstUse::write_process(const Process& process, MonotonicTime time, std::vector<std::byte>& out) {
    processes_told_.insert_or_assign(process.pid, process.epoch);
    const Tid main{process.pid.value};
    write_comm(process.pid, main, process.comm, time, out);
    for (const Mapping& mapping : process.maps.mappings()) {
        const Dso& dso = *mapping.dso;
        MmapRecord mmap{.sample = stamp(process.pid, main, time), .misc = kMiscUser, .pid = process.pid, .tid = main};
        mmap.start = mapping.start;
        mmap.length = mapping.end - mapping.start;
        mmap.page_offset = mapping.page_offset;
        mmap.build_id = dso.build_id;
        mmap.major = dso.major;
        mmap.minor = dso.minor;
        mmap.inode = dso.inode;
        mmap.inode_generation = dso.inode_generation;
        mmap.protection = kProtReadExec;
        mmap.map_flags = kMapPrivate;
        mmap.path = dso.path;
        append_record(mmap, layout_, out);
    }
}

void StateOnFirstUse::write_comm(Pid pid, Tid tid, std::string_view comm, MonotonicTime time,
                                 std::vector<std::byte>& out) {
    if (is_placeholder(comm, pid)) return;
    append_record(CommRecord{stamp(pid, tid, time), pid, tid, false, comm}, layout_, out);
}

void StateOnFirstUse::note_comm(const CommRecord& comm) {
    const Process* process = processes_.find(comm.pid);
    if (process == nullptr) return;
    // An exec starts an image without mappings; those that follow are in the file.
    if (comm.by_exec) processes_told_.insert_or_assign(comm.pid, process->epoch);
    if (told(*process)) threads_told_.insert_or_assign(comm.tid, process->epoch);
}

void StateOnFirstUse::note_task(const TaskRecord& task) {
    if (task.exit) {
        threads_told_.erase(task.tid);
        return;
    }
    const Process* process = processes_.find(task.pid);
    if (process == nullptr) return;
    if (task.pid == task.parent_pid) {
        // A thread takes over its creator's name.
        if (told(*process)) threads_told_.insert_or_assign(task.tid, process->epoch);
        return;
    }
    const Process* parent = processes_.find(task.parent_pid);
    if (parent != nullptr && told(*parent)) processes_told_.insert_or_assign(task.pid, process->epoch);
}

SampleId StateOnFirstUse::stamp(Pid pid, Tid tid, MonotonicTime time) const {
    SampleId id;
    id.pid = pid;
    id.tid = tid;
    id.time = time;
    id.id = id_;
    return id;
}

}  // namespace perfvigil::collector
