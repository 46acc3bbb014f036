// SPDX-License-Identifier: GPL-2.0-or-later
// What our captures hold beyond perf's own features, and its form in the file (docs/host-facts.proto).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "collector/event_table.hpp"
#include "collector/host_facts.hpp"
#include "collector/stream.hpp"

namespace perfvigil::collector {

struct CaptureFacts {
    struct Instance {
        EventId id{};
        EventIndex event{};  // position in `events`
        std::optional<CpuId> cpu;
        std::uint32_t generation = 0;
        Nanoseconds nominal_period{};
        std::uint64_t period_or_freq = 0;  // 0: as in the event's attr
        std::uint16_t max_stack = 0;       // 0: as in the event's attr
    };

    HostFacts host;  // cpu_times: those of the file's start
    std::vector<EventInfo> events;
    std::vector<Instance> instances;
    std::vector<Cut> cuts;
};

[[nodiscard]] std::vector<std::byte> encode_capture_facts(const CaptureFacts& facts);
// Unknown fields are skipped. Allocates no more than a small multiple of the bytes given.
[[nodiscard]] Result<CaptureFacts> decode_capture_facts(Bytes bytes);

}  // namespace perfvigil::collector
