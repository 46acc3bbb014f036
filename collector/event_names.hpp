// SPDX-License-Identifier: GPL-2.0-or-later
// What perf calls an event that a capture does not name.
#pragma once

#include <string>

#include "collector/event_attr.hpp"

namespace perfvigil::collector {

// "cycles", "cpu-clock", "L1-dcache-load-misses", "r1cb"; "type 9, config 0x4" where perf has no name either.
[[nodiscard]] std::string default_event_name(const EventAttr& attr);
// The attr says which event it is without the tables of its machine: hardware, software and cache events.
[[nodiscard]] bool is_generic_event(const EventAttr& attr);

}  // namespace perfvigil::collector
