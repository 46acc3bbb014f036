// SPDX-License-Identifier: GPL-2.0-or-later
// What must stand in a capture before a record, so that the file explains itself: a process's name and executable
// mappings before its first sample there, a thread's name, a cgroup's path. Follows what the file already says, so
// nothing is written for processes whose whole life is in it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "collector/processes.hpp"
#include "collector/stream.hpp"

namespace perfvigil::collector {

class StateOnFirstUse {
public:
    // `processes` outlives this; `layout` and `id` are those of an event of the file, for the records' trailers.
    StateOnFirstUse(const ProcessTable& processes, const RecordLayout& layout, EventId id)
        : processes_(processes), layout_(layout), id_(id) {}

    // Appends the records that must stand before `record`, which has been applied to the table; their time is its own.
    void before(const OrderedRecord& record, std::vector<std::byte>& out);

private:
    void before_sample(const SampleRecord& sample, MonotonicTime time, std::vector<std::byte>& out);
    void write_process(const Process& process, MonotonicTime time, std::vector<std::byte>& out);
    void write_comm(Pid pid, Tid tid, std::string_view comm, MonotonicTime time, std::vector<std::byte>& out);
    void note_comm(const CommRecord& comm);
    void note_task(const TaskRecord& task);
    [[nodiscard]] bool told(const Process& process) const;
    [[nodiscard]] SampleId stamp(Pid pid, Tid tid, MonotonicTime time) const;

    const ProcessTable& processes_;
    RecordLayout layout_;
    EventId id_;
    // The image of each process and thread that the file's records make known so far.
    boost::unordered_flat_map<Pid, ProcessEpoch> processes_told_;
    boost::unordered_flat_map<Tid, ProcessEpoch> threads_told_;
    boost::unordered_flat_set<CgroupId> cgroups_told_;
};

}  // namespace perfvigil::collector
