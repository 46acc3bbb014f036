// SPDX-License-Identifier: GPL-2.0-or-later
// Writes records as the kernel would have: what was read from /proc and from counters enters the stream in the same
// bytes as what came through a ring, so nothing downstream and no capture can tell them apart.
// Source: include/uapi/linux/perf_event.h, enum perf_event_type.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/event_kernel.hpp"
#include "collector/kernel_code.hpp"
#include "collector/record.hpp"

namespace perfvigil::collector {

// Goes into the sample_id trailer.
struct RecordOrigin {
    RecordLayout layout;
    EventId id{};
    CpuId cpu{};
    MonotonicTime time{};
};

// One line of /proc/PID/maps.
struct ProcMapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t page_offset = 0;
    std::uint32_t protection = 0;  // PROT_*
    std::uint32_t map_flags = 0;   // MAP_PRIVATE or MAP_SHARED
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint64_t inode = 0;
    std::string_view path;
};

// Holds the bytes of the record it wrote last. Names are cut where the kernel cuts them (comm 15, paths 4095 bytes).
class RecordEncoder {
public:
    [[nodiscard]] Bytes comm(const RecordOrigin& origin, Pid pid, Tid tid, std::string_view comm);
    // A process of a snapshot: FORK with kMiscForkExec, so that its maps are not its parent's.
    [[nodiscard]] Bytes fork(const RecordOrigin& origin, Pid pid, Pid parent);
    // A snapshot ends here. A header only, as perf writes it: it has no time.
    [[nodiscard]] Bytes finished_init();
    [[nodiscard]] Bytes mmap2(const RecordOrigin& origin, Pid pid, const ProcMapping& mapping);
    [[nodiscard]] Bytes ksymbol(const RecordOrigin& origin, const KernelCode& code);
    [[nodiscard]] Bytes cgroup(const RecordOrigin& origin, CgroupId id, std::string_view path);
    // The counters of one event; `pid` and `tid` are -1 and 0 where the event counts whole CPUs.
    [[nodiscard]] Bytes read(const RecordOrigin& origin, Pid pid, Tid tid, const Counter& counter);

private:
    void begin(RecordType type, std::uint16_t misc);
    [[nodiscard]] Bytes end(const RecordOrigin& origin, Pid pid, Tid tid);

    std::vector<std::byte> out_;
};

}  // namespace perfvigil::collector
