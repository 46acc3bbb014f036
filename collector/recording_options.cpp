// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/recording_options.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::uint32_t kTypeRaw = 4;

struct KnownEvent {
    std::string_view name;
    std::uint32_t type;
    std::uint64_t config;
};

// enum perf_hw_id and perf_sw_ids of include/uapi/linux/perf_event.h; first name of a pair: the one perf prints.
constexpr std::array kKnownEvents{
    KnownEvent{"cycles", kTypeHardware, kHwCpuCycles},
    KnownEvent{"cpu-cycles", kTypeHardware, kHwCpuCycles},
    KnownEvent{"instructions", kTypeHardware, 1},
    KnownEvent{"cache-references", kTypeHardware, 2},
    KnownEvent{"cache-misses", kTypeHardware, 3},
    KnownEvent{"branches", kTypeHardware, 4},
    KnownEvent{"branch-instructions", kTypeHardware, 4},
    KnownEvent{"branch-misses", kTypeHardware, 5},
    KnownEvent{"bus-cycles", kTypeHardware, 6},
    KnownEvent{"stalled-cycles-frontend", kTypeHardware, 7},
    KnownEvent{"stalled-cycles-backend", kTypeHardware, 8},
    KnownEvent{"ref-cycles", kTypeHardware, 9},
    KnownEvent{"cpu-clock", kTypeSoftware, kSwCpuClock},
    KnownEvent{"task-clock", kTypeSoftware, kSwTaskClock},
    KnownEvent{"page-faults", kTypeSoftware, 2},
    KnownEvent{"faults", kTypeSoftware, 2},
    KnownEvent{"context-switches", kTypeSoftware, 3},
    KnownEvent{"cs", kTypeSoftware, 3},
    KnownEvent{"cpu-migrations", kTypeSoftware, 4},
    KnownEvent{"migrations", kTypeSoftware, 4},
    KnownEvent{"minor-faults", kTypeSoftware, 5},
    KnownEvent{"major-faults", kTypeSoftware, 6},
    KnownEvent{"alignment-faults", kTypeSoftware, 7},
    KnownEvent{"emulation-faults", kTypeSoftware, 8},
};

constexpr std::uint8_t kMostPrecise = 3;

// "r01c2"
std::optional<std::uint64_t> raw_config(std::string_view name) {
    if (name.size() < 2 || name.front() != 'r') return std::nullopt;
    return parse_number<std::uint64_t>(name.substr(1), 16);
}

}  // namespace

Result<EventSpec> parse_event(std::string_view name) {
    const std::string_view plain = name.substr(0, name.find(':'));
    EventSpec event{.name = std::string(name)};
    const auto known = std::ranges::find(kKnownEvents, plain, &KnownEvent::name);
    if (known != kKnownEvents.end()) {
        event.type = known->type;
        event.config = known->config;
    } else if (const auto raw = raw_config(plain)) {
        event.type = kTypeRaw;
        event.config = *raw;
    } else {
        return fail(ErrorCode::kInvalid,
                    fmt::format("event '{}' is not known; examples: cycles, cpu-clock, instructions, cache-misses, "
                                "page-faults, r01c2 (raw)",
                                escape(name)));
    }
    if (plain.size() == name.size()) return event;
    const std::string_view modifier = name.substr(plain.size() + 1);
    event.as_precise_as_possible = modifier == "P";
    if (!event.as_precise_as_possible && modifier != "p" && modifier != "pp" && modifier != "ppp") {
        return fail(ErrorCode::kInvalid,
                    fmt::format("event '{}': the modifier '{}' is not known; :p, :pp and :ppp ask for samples that lie "
                                "ever closer to the counted instruction, :P for the closest that the machine has",
                                escape(name), escape(modifier)));
    }
    if (event.type == kTypeSoftware) {
        return fail(ErrorCode::kInvalid,
                    fmt::format("event '{}': the kernel counts {} itself, no hardware that could be more precise; "
                                "leave out :{}",
                                escape(name), escape(plain), escape(modifier)));
    }
    event.precise = event.as_precise_as_possible ? kMostPrecise : static_cast<std::uint8_t>(modifier.size());
    return event;
}

Result<void> check_stack_dump(std::uint32_t bytes) {
    if (bytes > 0 && bytes % 8 == 0 && bytes <= kMaxStackDump) return {};
    return fail(ErrorCode::kInvalid,
                fmt::format("a stack dump of {} bytes cannot be recorded: it must be a multiple of "
                            "8 from 8 to {}",
                            bytes, kMaxStackDump));
}

}  // namespace perfvigil::collector
