// SPDX-License-Identifier: GPL-2.0-or-later
// What already runs, read from /proc: names of processes and threads, and executable mappings. Reads in pieces, so that
// the sampler is never held up by a host with very many processes. Knows nothing of records: it reports what it finds
// to a ProcVisitor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/record_encoder.hpp"

namespace perfvigil::collector {

class ProcVisitor {
public:
    virtual ~ProcVisitor() = default;
    // Called before anything of `pid` is read: what follows is at least as new as this moment.
    virtual void on_process(Pid pid) = 0;
    virtual void on_parent(Pid pid, Pid parent) = 0;
    // The kernel's own bytes (up to 15, newlines and blanks included).
    virtual void on_comm(Pid pid, Tid tid, std::string_view comm) = 0;
    virtual void on_mapping(Pid pid, const ProcMapping& mapping) = 0;
};

enum class ProcMaps : std::uint8_t {
    kCode,   // executable mappings only
    kFiles,  // and all others of files: who unwinds stacks may need to know where a file starts
};

class ProcSnapshot {
public:
    // Without `pids`: every process that exists now.
    explicit ProcSnapshot(std::string proc_root, std::vector<Pid> pids = {}, ProcMaps maps = ProcMaps::kCode);

    // Reads whole processes until `deadline` has passed (at least one); true when all have been read.
    bool read_until(const Clock& clock, MonotonicTime deadline, ProcVisitor& visitor);

    [[nodiscard]] bool done() const { return next_ == pids_.size(); }
    [[nodiscard]] std::size_t processes_read() const { return next_; }
    // Processes whose mappings our rights did not let us read (CAP_SYS_PTRACE).
    [[nodiscard]] std::size_t unreadable() const { return unreadable_; }

private:
    void read_process(Pid pid, ProcVisitor& visitor);
    [[nodiscard]] std::optional<Pid> read_parent(int folder);
    void read_threads(int folder, Pid pid, ProcVisitor& visitor);
    void read_mappings(int folder, Pid pid, ProcVisitor& visitor);
    [[nodiscard]] bool wants(const ProcMapping& mapping) const;

    std::string root_;
    std::vector<Pid> pids_;
    ProcMaps maps_;
    std::size_t next_ = 0;
    std::size_t unreadable_ = 0;
    std::string buffer_;
};

// The name as perf records hold it: without the work that /proc appends to a kworker's ("kworker/0:1-events").
[[nodiscard]] std::string_view task_comm(std::string_view proc_comm);

// One line of /proc/PID/maps, path unescaped and named as the kernel names it in MMAP2 records ("//anon" for memory
// without a file). `path_storage` holds the path where it had to be changed. False: not such a line.
[[nodiscard]] bool parse_maps_line(std::string_view line, ProcMapping& mapping, std::string& path_storage);

}  // namespace perfvigil::collector
