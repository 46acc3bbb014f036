// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers that must not be mixed up. A strong id compares and hashes like its number and converts only on request.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace perfvigil {

template <class Tag, class Rep>
struct StrongId {
    using rep = Rep;
    Rep value{};

    friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
    friend std::size_t hash_value(const StrongId& id) noexcept { return std::hash<Rep>{}(id.value); }
};

using Pid = StrongId<struct PidTag, std::int32_t>;           // thread group id, in the recorder's pid namespace
using Tid = StrongId<struct TidTag, std::int32_t>;           // thread id, same namespace
using CpuId = StrongId<struct CpuTag, std::uint32_t>;        // logical CPU number
using EventId = StrongId<struct EventIdTag, std::uint64_t>;  // the kernel's id of one opened event (PERF_FORMAT_ID)
using CgroupId = StrongId<struct CgroupTag, std::uint64_t>;  // cgroup inode (PERF_SAMPLE_CGROUP)

// An address in a running address space (or the running kernel).
using RuntimeAddress = StrongId<struct RuntimeAddressTag, std::uint64_t>;
// A position in a file: runtime − mapping.start + mapping.pgoff.
using FileOffset = StrongId<struct FileOffsetTag, std::uint64_t>;
// An address as the link editor laid it out (st_value): offset − p_offset + p_vaddr of the PT_LOAD that holds it.
using LinkAddress = StrongId<struct LinkAddressTag, std::uint64_t>;

}  // namespace perfvigil

template <class Tag, class Rep>
struct std::hash<perfvigil::StrongId<Tag, Rep>> {
    std::size_t operator()(const perfvigil::StrongId<Tag, Rep>& id) const noexcept {
        return std::hash<Rep>{}(id.value);
    }
};
