// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/state_feed.hpp"

#include "base/fd.hpp"
#include "collector/cgroup_snapshot.hpp"
#include "collector/kernel_code.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::size_t kMaxCgroups = 65536;

}  // namespace

StateFeed::StateFeed(const Clock& clock, std::string proc_root, ProcMaps maps, Push push)
    : clock_(clock), proc_root_(std::move(proc_root)), maps_(maps), push_(std::move(push)) {}

void StateFeed::begin(const RecordOrigin& origin, Stamp stamp, std::vector<Pid> pids) {
    origin_ = origin;
    stamp_ = stamp;
    if (stamp_ == Stamp::kNow) origin_.time = clock_.monotonic();
    push_cgroups();
    push_kernel_code();
    snapshot_.emplace(proc_root_, std::move(pids), maps_);
}

bool StateFeed::step(Nanoseconds budget) {
    if (snapshot_ && snapshot_->read_until(clock_, clock_.monotonic() + budget, *this)) {
        processes_read_ = snapshot_->processes_read();
        unreadable_ = snapshot_->unreadable();
        snapshot_.reset();
        push_(origin_.time, encoder_.finished_init());
    }
    return !snapshot_;
}

void StateFeed::set_origin(EventId id, CpuId cpu) {
    origin_.id = id;
    origin_.cpu = cpu;
}

void StateFeed::push_cgroups() {
    const auto mountinfo = read_file(proc_root_ + "/self/mountinfo");
    if (!mountinfo) return;
    if (const auto mount = find_cgroup_mount(*mountinfo)) {
        read_cgroups(*mount, kMaxCgroups, [this](CgroupId id, std::string_view path) {
            push_(origin_.time, encoder_.cgroup(origin_, id, path));
        });
    }
}

void StateFeed::push_kernel_code() {
    for (const auto& code : read_kernel_code(proc_root_)) push_(origin_.time, encoder_.ksymbol(origin_, code));
}

void StateFeed::on_process(Pid) {
    if (stamp_ == Stamp::kNow) origin_.time = clock_.monotonic();
}

void StateFeed::on_parent(Pid pid, Pid parent) { push_(origin_.time, encoder_.fork(origin_, pid, parent)); }

void StateFeed::on_comm(Pid pid, Tid tid, std::string_view comm) {
    push_(origin_.time, encoder_.comm(origin_, pid, tid, comm));
}

void StateFeed::on_mapping(Pid pid, const ProcMapping& mapping) {
    push_(origin_.time, encoder_.mmap2(origin_, pid, mapping));
}

}  // namespace perfvigil::collector
