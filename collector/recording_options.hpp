// SPDX-License-Identifier: GPL-2.0-or-later
// What a recording is asked to do. The one place where defaults of recording live; config/ and the command line fill
// it, attr_builder turns it into perf_event_attr.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "collector/event_attr.hpp"

namespace perfvigil::collector {

struct EventSpec {
    std::string name;  // "cycles", "cpu-clock"
    std::uint32_t type = kTypeSoftware;
    std::uint64_t config = kSwCpuClock;
    // attr.precise_ip: how far a sample's instruction may lie behind the one that was counted. 0: as it comes, 1: by a
    // constant, 2: asked for none, 3: none. What the machine cannot do becomes the next lower, and is said.
    std::uint8_t precise = 0;
    bool as_precise_as_possible = false;  // any level but 0 will do
};
// Names known without libpfm: cycles, instructions, cpu-clock, task-clock, page-faults, context-switches,
// cpu-migrations, cache-misses, branch-misses, …; and raw rNNNN. Each with :p, :pp or :ppp (EventSpec::precise), or :P.
[[nodiscard]] Result<EventSpec> parse_event(std::string_view name);

struct AllCpus {};  // the whole host: pid = -1 on each CPU of `cpus`
struct Processes {
    std::vector<Pid> pids;  // every thread of each, and what they fork (inherit)
};
struct Threads {
    std::vector<Tid> tids;
};
using RecordingTarget = std::variant<AllCpus, Processes, Threads>;

// How the callers of user code get into a sample. Kernel callers always come with their addresses.
enum class CallChains : std::uint8_t {
    kNone,           // the sampled instruction only
    kFramePointers,  // the kernel follows frame pointers: cheap, blind to code built without them
    kStackDumps,     // registers and the top of the stack are copied out, to be unwound by tables afterwards
};

// Bytes of stack that a kStackDumps sample can hold: a multiple of 8, below 64 KiB as every record.
inline constexpr std::uint32_t kMaxStackDump = 65528;
[[nodiscard]] Result<void> check_stack_dump(std::uint32_t bytes);

// Things that may change while recording, make-before-break.
struct Tuning {
    std::uint32_t frequency = 99;                     // samples per second, per event and CPU (or thread)
    std::uint64_t sample_ring_bytes = 512U << 10;     // per CPU; rounded up to a power of two pages
    std::uint64_t side_band_ring_bytes = 256U << 10;  // per CPU
    std::uint16_t max_stack = 127;                    // frames per chain, kernel.perf_event_max_stack caps it

    friend bool operator==(const Tuning&, const Tuning&) = default;
};

// What is done on a host with tickless CPUs about events that would turn their tick on (collector/tickless.hpp).
enum class Ticks : std::uint8_t {
    kKeepOff,    // such events are left out, and that is said
    kMayTurnOn,  // they were asked for by name
};

struct RecordingOptions {
    std::vector<EventSpec> events = {{"cycles", kTypeHardware, kHwCpuCycles},
                                     {"cpu-clock", kTypeSoftware, kSwCpuClock}};
    RecordingTarget target = AllCpus{};
    std::vector<CpuId> cpus;      // empty: every online CPU …
    std::vector<CpuId> left_out;  // … but these
    Tuning tuning;
    std::uint64_t rings_total_bytes = 128U << 20;  // cap over all rings of the session
    Nanoseconds slice = std::chrono::seconds(5);   // slices are cut at multiples of this in wall time
    Nanoseconds drain_interval = std::chrono::milliseconds(100);
    CallChains call_chains = CallChains::kFramePointers;
    std::uint32_t stack_dump_bytes = 8192;   // with kStackDumps; see check_stack_dump()
    bool inherit = true;                     // for Processes and Threads: children too
    bool start_disabled_until_exec = false;  // for a child that will exec (`record -- command`)
    Ticks ticks = Ticks::kKeepOff;

    // Once it is online.
    [[nodiscard]] bool wants(CpuId cpu) const {
        const auto in = [cpu](const std::vector<CpuId>& list) { return std::ranges::find(list, cpu) != list.end(); };
        return cpus.empty() ? !in(left_out) : in(cpus);
    }
};

}  // namespace perfvigil::collector
