// SPDX-License-Identifier: GPL-2.0-or-later
// The Dsos of the process table: what is one, who hears of it, when it is forgotten.
#include <algorithm>
#include <limits>
#include <utility>

#include <boost/container_hash/hash.hpp>

#include "collector/processes.hpp"
#include "collector/vdso_name.hpp"

namespace perfvigil::collector {
namespace {

// As kallsyms calls the modules of what the kernel registers (kernel/bpf, kernel/kprobes.c, kernel/trace/ftrace.c).
std::string_view owner_of(const KsymbolRecord& symbol) {
    constexpr std::uint16_t kBpf = 1;
    if (symbol.type == kBpf) return "[bpf]";
    if (symbol.name.starts_with("ftrace")) return "[ftrace]";
    return symbol.name.starts_with("kprobe") ? "[kprobes]" : "[kernel.kallsyms]";
}

}  // namespace

ProcessTable::DsoKey ProcessTable::key_of(const Dso& dso) {
    return {dso.kind, dso.path, dso.build_id, dso.major, dso.minor, dso.inode, dso.inode_generation};
}

std::size_t ProcessTable::DsoHash::operator()(const DsoKey& key) const noexcept {
    std::size_t seed = std::hash<std::string_view>{}(key.path);
    boost::hash_combine(seed, key.build_id);
    boost::hash_combine(seed, (std::uint64_t{key.major} << 32U) | key.minor);
    boost::hash_combine(seed, key.inode);
    boost::hash_combine(seed, key.inode_generation);
    boost::hash_combine(seed, static_cast<unsigned>(key.kind));
    return seed;
}

DsoRef ProcessTable::dso_of(const MmapRecord& mmap, Entry& entry) {
    const DsoKind kind = dso_kind_of(mmap.path, mmap.build_id, mmap.map_flags);
    if (kind == DsoKind::kAnonymous) return anonymous_dso(entry);
    DsoKey key{.kind = kind, .path = mmap.path.substr(0, kMaxPathSize), .build_id = mmap.build_id};
    // A 64-bit process has its vDSO beside its stack, far above what 32 bits reach.
    if (kind == DsoKind::kVdso && mmap.start <= std::numeric_limits<std::uint32_t>::max()) key.path = kVdso32;
    if (kind == DsoKind::kFile) {
        key.major = mmap.major;
        key.minor = mmap.minor;
        key.inode = mmap.inode;
        key.inode_generation = mmap.inode_generation;
    }
    return intern(key, entry.pid);
}

DsoRef ProcessTable::anonymous_dso(Entry& entry) {
    if (!entry.anonymous) {
        entry.anonymous = std::make_shared<const Dso>(Dso{.id = DsoId{next_dso_++},
                                                          .kind = DsoKind::kAnonymous,
                                                          .path = "//anon",
                                                          .build_id = {},
                                                          .first_pid = entry.pid});
        if (listener_ != nullptr) listener_->on_dso_mapped(entry.anonymous, entry.pid);
    }
    return entry.anonymous;
}

// Every registration makes a Dso: the same place may hold another program under the same name.
void ProcessTable::apply_ksymbol(const KsymbolRecord& symbol) {
    ++clock_;
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - symbol.address;
    const std::uint64_t end = symbol.address + std::min<std::uint64_t>(symbol.length, room);
    ++kernel_.version;
    if (symbol.unregister || symbol.name.empty()) {
        if (!kernel_.made.unmap(symbol.address, end, limits_.max_kernel_code)) ++dropped_;
        return;
    }
    auto made = std::make_shared<const Dso>(Dso{.id = DsoId{next_dso_++},
                                                .kind = DsoKind::kKernelCode,
                                                .path = std::string(owner_of(symbol)),
                                                .build_id = {},
                                                .function = std::string(symbol.name.substr(0, kMaxPathSize)),
                                                .start = symbol.address,
                                                .size = end - symbol.address});
    const Mapping mapping{.start = symbol.address, .end = end, .page_offset = 0, .dso = std::move(made)};
    if (!kernel_.made.map(mapping, limits_.max_kernel_code)) ++dropped_;
}

DsoRef ProcessTable::intern(const DsoKey& key, Pid pid) {
    auto found = dsos_.find(key);
    if (found == dsos_.end()) {
        if (dsos_.size() >= dsos_checked_at_) {
            dsos_forgotten_ +=
                boost::unordered::erase_if(dsos_, [](const auto& i) { return i.first.use_count() == 1; });
            dsos_checked_at_ = std::max(limits_.max_dsos, dsos_.size() + batch_of(limits_.max_dsos));
        }
        auto made = std::make_shared<const Dso>(Dso{.id = DsoId{next_dso_++},
                                                    .kind = key.kind,
                                                    .path = std::string(key.path),
                                                    .build_id = key.build_id,
                                                    .major = key.major,
                                                    .minor = key.minor,
                                                    .inode = key.inode,
                                                    .inode_generation = key.inode_generation,
                                                    .first_pid = pid});
        dsos_.emplace(made, DsoState{.last_pid = pid});
        if (listener_ != nullptr) listener_->on_dso_mapped(made, pid);
        return made;
    }
    DsoState& state = found->second;
    if (listener_ != nullptr && state.retries > 0 && state.last_pid != pid) {
        --state.retries;
        state.last_pid = pid;
        listener_->on_dso_mapped(found->first, pid);
    }
    return found->first;
}

}  // namespace perfvigil::collector
