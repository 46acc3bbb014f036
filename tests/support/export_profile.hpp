// SPDX-License-Identifier: GPL-2.0-or-later
// A small profile of two events whose exports can be written down by hand.
#pragma once

#include "analyzer/profile.hpp"

namespace perfvigil::test {

//   cpu-clock  web: main → work                      3 samples, 30 ns
//              web: main → (libc, stripped) → read   2 samples, 20 ns
//              thread without a name: read, idle     5 samples, 50 ns
//   cycles     web: main → work                      7 samples, 7000 cycles
inline analyzer::Profile export_profile() {
    using namespace std::chrono;
    analyzer::Profile profile;
    profile.id = "perf.data";
    profile.start = WallTime(seconds(1000));
    profile.end = WallTime(seconds(1010));
    profile.duration = seconds(10);
    profile.host.hostname = "host";
    profile.host.os_release = "6.1.0";
    profile.host.architecture = "x86_64";
    profile.host.recorder = "perfvigil 0.1.0";
    profile.warnings = {"1 sample was lost"};
    profile.events.resize(3);
    profile.events[0] = {.name = "cpu-clock",
                         .unit = analyzer::WeightUnit::kNanoseconds,
                         .frequency_mode = true,
                         .rate = 100,
                         .nominal_period = Nanoseconds(10),
                         .samples = 10,
                         .weight = 100,
                         .idle_samples = 5,
                         .idle_weight = 50};
    profile.events[1] = {.name = "cycles",
                         .unit = analyzer::WeightUnit::kCycles,
                         .frequency_mode = true,
                         .rate = 100,
                         .samples = 7,
                         .weight = 7000};
    profile.events[2] = {.name = "page-faults", .rate = 4};  // counted nothing
    enum Function : std::uint32_t { kMain, kWork, kLibc, kRead };
    profile.functions = {{.name = "main", .dso = "/bin/x"},
                         {.name = "work", .dso = "/bin/x"},
                         {.name = "[unknown]", .dso = "/lib/libc.so.6", .reason = analyzer::UnknownReason::kNoSymbols},
                         {.name = "read", .dso = "[kernel.kallsyms]", .kernel = true}};
    profile.dsos = {{"/bin/x", "00aaff"}};
    profile.stacks = {{.functions = {kWork, kMain}}, {.functions = {kRead, kLibc, kMain}}, {.functions = {kRead}}};
    profile.contexts = {{.comm = "web", .unit = "web.service", .container = "0123456789ab"},
                        {.comm = "", .unit = "", .container = ""}};
    profile.samples = {{.event = 0, .stack = 0, .context = 0, .samples = 3, .weight = 30},
                       {.event = 0, .stack = 1, .context = 0, .samples = 2, .weight = 20},
                       {.event = 0, .stack = 2, .context = 1, .idle = true, .samples = 5, .weight = 50},
                       {.event = 1, .stack = 0, .context = 0, .samples = 7, .weight = 7000}};
    return profile;
}

}  // namespace perfvigil::test
