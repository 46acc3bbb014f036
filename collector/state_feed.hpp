// SPDX-License-Identifier: GPL-2.0-or-later
// What already runs, as the records that the side-band rings would have sent: processes, threads, executable mappings,
// cgroups, the code that the kernel made, and FINISHED_INIT when all has been said (see ProcessTable::apply). Read at
// the start, and again when side-band records were lost. A process that changes while it is read is put right by its
// own records, which are later.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "collector/proc_snapshot.hpp"
#include "collector/record_encoder.hpp"

namespace perfvigil::collector {

class StateFeed final : private ProcVisitor {
public:
    using Push = std::function<void(MonotonicTime, Bytes)>;
    StateFeed(const Clock& clock, std::string proc_root, ProcMaps maps, Push push);

    // Begins to read `pids` (empty: every process). `origin` names the event that would have told; all records get
    // `origin.time` (kFixed) or the moment just before their process was read (kNow).
    enum class Stamp : std::uint8_t { kFixed, kNow };
    void begin(const RecordOrigin& origin, Stamp stamp, std::vector<Pid> pids);
    // Goes on for at most `budget` (one process at least); true when nothing is left.
    bool step(Nanoseconds budget);
    // What begin() started goes on under another event (the first one was closed).
    void set_origin(EventId id, CpuId cpu);
    // From now on every process's own moment counts.
    void stamp_now() { stamp_ = Stamp::kNow; }

    [[nodiscard]] bool active() const { return snapshot_.has_value(); }
    // Of the last complete reading: how many processes, and how many of them did not show their mappings.
    [[nodiscard]] std::size_t processes_read() const { return processes_read_; }
    [[nodiscard]] std::size_t unreadable() const { return unreadable_; }

private:
    void on_process(Pid pid) override;
    void on_parent(Pid pid, Pid parent) override;
    void on_comm(Pid pid, Tid tid, std::string_view comm) override;
    void on_mapping(Pid pid, const ProcMapping& mapping) override;
    void push_cgroups();
    void push_kernel_code();

    const Clock& clock_;
    std::string proc_root_;
    ProcMaps maps_;
    Push push_;
    RecordEncoder encoder_;
    RecordOrigin origin_;
    Stamp stamp_ = Stamp::kNow;
    std::optional<ProcSnapshot> snapshot_;
    std::size_t processes_read_ = 0;
    std::size_t unreadable_ = 0;
};

}  // namespace perfvigil::collector
