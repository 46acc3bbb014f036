// SPDX-License-Identifier: GPL-2.0-or-later
// Samples that carry counters (PERF_SAMPLE_READ): each member of the group gets a sample of its own, weighed by how far
// its counter moved since its last one. The record's own period is the leader's and of no use then
// (tools/perf/util/session.c, deliver_sample_value()).
#pragma once

#include <cstdint>
#include <optional>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.hpp"

namespace perfvigil::collector {

class GroupReads {
public:
    // The weight of a member's sample; nullopt: the counter did not move. `tid` tells apart the counters of inherited
    // events, which share an id; kAnyTid where each id is one counter.
    [[nodiscard]] std::optional<std::uint64_t> weight(EventId id, Tid tid, std::uint64_t value) {
        auto [entry, first] = last_.try_emplace(Key{id, tid}, 0);
        // A counter that went back was opened anew.
        const std::uint64_t moved = value >= entry->second ? value - entry->second : value;
        entry->second = value;
        if (moved == 0) return std::nullopt;
        return moved;
    }

    static constexpr Tid kAnyTid{-1};

private:
    struct Key {
        EventId id{};
        Tid tid{};
        friend bool operator==(const Key&, const Key&) = default;
        friend std::size_t hash_value(const Key& key) noexcept {
            return std::hash<std::uint64_t>{}(key.id.value * 0x9e3779b97f4a7c15U +
                                              static_cast<std::uint32_t>(key.tid.value));
        }
    };
    boost::unordered_flat_map<Key, std::uint64_t> last_;
};

}  // namespace perfvigil::collector
