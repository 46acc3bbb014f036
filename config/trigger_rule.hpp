// SPDX-License-Identifier: GPL-2.0-or-later
// A rule of triggers.rules: when what happens is worth keeping. docs/triggers.md tells it to people.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.hpp"

namespace perfvigil::config {

struct TriggerRule {
    enum class Signal : std::uint8_t {
        kCpuBusy,     // share of the recorded CPUs' time
        kFunction,    // own share of the busy time; `of`: its name as in reports
        kUnit,        // CPUs that it used: 1.5 is one and a half; `of`: its name
        kLoss,        // share of the samples
        kPressure,    // share of the time; `of`: "cpu some", … of /proc/pressure
        kLoad,        // the load average of a minute
        kLoadPerCpu,  // … by the number of CPUs
    };

    std::string name;
    Signal signal = Signal::kCpuBusy;
    std::string of;
    double above = 0;
    Nanoseconds hold{};  // it must be so for this long without a break; 0: in one slice

    friend bool operator==(const TriggerRule&, const TriggerRule&) = default;
};
inline constexpr std::array<std::string_view, 7> kTriggerSignalNames{"cpu_busy", "function", "unit",        "loss",
                                                                     "pressure", "load",     "load_per_cpu"};

}  // namespace perfvigil::config
