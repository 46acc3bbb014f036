// SPDX-License-Identifier: GPL-2.0-or-later
// Whose samples keep neither names nor call chains: they count where and when they were taken, as (excluded). Decided
// where samples become stacks, so nothing behind it (slices, profiles, metrics, stores) has held what is excluded.
// In doubt a task is excluded: one whose control group or user nobody told.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "collector/process_owner.hpp"
#include "collector/processes.hpp"

namespace perfvigil::analyzer {

struct ExclusionRules {
    // Patterns (name_pattern.hpp), of any part of the control group's path: a unit, a slice around it, a container's.
    std::vector<std::string> units{};
    std::vector<std::string> comms{};     // patterns, of the thread's name or its process's
    std::vector<collector::Uid> users{};  // of the process, real or effective

    [[nodiscard]] bool empty() const { return units.empty() && comms.empty() && users.empty(); }
};

// What a profile of this host must not tell.
struct Hidden {
    ExclusionRules exclude{};
    bool paths = false;  // redaction.hpp
};

// Thread: one owner.
class Exclusion {
public:
    using OwnerOf = std::function<std::optional<collector::ProcessOwner>(Pid)>;

    // `owner_of` reads who owns a process that lives: asked once for each process and slice.
    explicit Exclusion(ExclusionRules rules, OwnerOf owner_of = read_from_proc)
        : rules_(std::move(rules)), owner_of_(std::move(owner_of)) {}

    // Of every process that the table knows and nobody has asked for: children that end soon have their parent's.
    void read_owners(collector::ProcessTable& processes);
    // A process may have changed its user since.
    void begin_slice() { read_.clear(); }
    // Never the kernel's own threads. An owner that can be read is noted in the process.
    [[nodiscard]] bool takes(collector::Process& process, std::string_view comm, std::string_view cgroup_path);
    // By the rules for units alone.
    [[nodiscard]] bool takes_cgroup(std::string_view path);

private:
    [[nodiscard]] static std::optional<collector::ProcessOwner> read_from_proc(Pid pid) {
        return collector::read_process_owner("/proc", pid);
    }
    [[nodiscard]] bool takes_comm(std::string_view comm);
    [[nodiscard]] bool takes_owner(collector::Process& process);

    ExclusionRules rules_;
    OwnerOf owner_of_;
    boost::unordered_flat_map<std::string, bool, std::hash<std::string>, std::equal_to<>> cgroups_;  // by path
    boost::unordered_flat_map<Pid, collector::ProcessEpoch> read_;                                   // in this slice
    std::string scratch_;
};

}  // namespace perfvigil::analyzer
