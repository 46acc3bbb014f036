// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/exclusion.hpp"

#include <algorithm>

#include "analyzer/name_pattern.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kMostCgroups = 4096;  // remembered; then they are judged anew

bool matches_one(const std::vector<std::string>& patterns, const std::string& name) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) { return matches(pattern, name); });
}

}  // namespace

bool Exclusion::takes(collector::Process& process, std::string_view comm, std::string_view cgroup_path) {
    if (process.kernel_thread) return false;
    return takes_comm(comm) || takes_comm(process.comm) || takes_cgroup(cgroup_path) || takes_owner(process);
}

void Exclusion::read_owners(collector::ProcessTable& processes) {
    if (rules_.users.empty()) return;
    processes.for_each([&](collector::Process& process) {
        if (!process.owner && !process.kernel_thread) process.owner = owner_of_(process.pid);
    });
}

bool Exclusion::takes_comm(std::string_view comm) {
    if (rules_.comms.empty()) return false;
    scratch_.assign(comm);
    return matches_one(rules_.comms, scratch_);
}

bool Exclusion::takes_cgroup(std::string_view path) {
    if (rules_.units.empty()) return false;
    if (path.empty()) return true;
    scratch_.assign(path);
    if (const auto known = cgroups_.find(scratch_); known != cgroups_.end()) return known->second;
    const auto parts = split(path, '/');
    const bool taken = std::ranges::any_of(parts, [&](std::string_view part) {
        // systemd puts '_' before names that the kernel could take for one of its files (cg_escape).
        if (part.starts_with('_')) part.remove_prefix(1);
        return !part.empty() && matches_one(rules_.units, std::string(part));
    });
    if (cgroups_.size() >= kMostCgroups) cgroups_.clear();
    cgroups_.emplace(path, taken);
    return taken;
}

bool Exclusion::takes_owner(collector::Process& process) {
    if (rules_.users.empty()) return false;
    const auto [at, unread] = read_.try_emplace(process.pid, process.epoch);
    if (unread || at->second != process.epoch) {
        at->second = process.epoch;
        if (const auto owner = owner_of_(process.pid)) process.owner = *owner;
    }
    if (!process.owner) return true;
    const auto named = [&](collector::Uid uid) { return std::ranges::find(rules_.users, uid) != rules_.users.end(); };
    return named(process.owner->real) || named(process.owner->effective);
}

}  // namespace perfvigil::analyzer
