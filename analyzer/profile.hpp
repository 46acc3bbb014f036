// SPDX-License-Identifier: GPL-2.0-or-later
// What was learned of one stretch of time: symbolized, self-contained, immutable once built. Every report and export
// is a pure function of it; it is what the store keeps (docs/profile.proto) and what the API serves.
// Functions, stacks and contexts are numbered within the profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/ledger.hpp"
#include "analyzer/slice.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "base/ids.hpp"
#include "collector/degraded.hpp"

namespace perfvigil::analyzer {

enum class WeightUnit : std::uint8_t { kNanoseconds, kCycles, kEvents };

struct ProfileEvent {
    std::string name;
    WeightUnit unit = WeightUnit::kEvents;
    bool frequency_mode = false;
    std::uint64_t rate = 0;        // hertz in frequency mode, else the period
    Nanoseconds nominal_period{};  // clock events: of the last generation
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;        // "event count": ns for clocks, Σ period otherwise
    std::uint64_t idle_samples = 0;  // within samples
    std::uint64_t idle_weight = 0;
    std::uint64_t lost = 0;
    bool lost_is_shared = false;
    // Of the event before Profile::filter was applied; 0 where there is no filter. Shares in a filtered report are of
    // what the filter left, and it says how much of the whole that is.
    std::uint64_t whole_samples = 0;
    std::uint64_t whole_weight = 0;

    friend bool operator==(const ProfileEvent&, const ProfileEvent&) = default;
};

struct ProfileFunction {
    std::string name;  // demangled, function_group(); for unknown ones "[unknown]" (reason says why)
    std::string dso;
    bool kernel = false;
    UnknownReason reason = UnknownReason::kNone;
    // The symbols that are counted under this name and differ from it, as they came in: "f.isra.0", "f.cold".
    std::vector<std::string> variants{};
    // Only where a file's analysis was asked for them (SampleSelection); windows never are, and the store does not keep
    // them.
    bool inlined = false;    // compiled into its caller, which is the next function of the stack
    std::string file{};      // where in the sources the function is left or sampled: a function of several lines is
    std::uint32_t line = 0;  // several functions then; 0: unknown

    friend bool operator==(const ProfileFunction&, const ProfileFunction&) = default;
};
inline constexpr std::size_t kMostVariants = 16;  // of one function

// Which build of a binary ProfileFunction::dso names.
struct ProfileDso {
    std::string name;
    std::string build_id;  // hexadecimal digits

    friend bool operator==(const ProfileDso&, const ProfileDso&) = default;
};

// What a unit or container executed. One row per unit, container and build of a program.
struct ProfileProgram {
    std::string unit;               // as in ProfileContext
    std::string container;          // the same
    std::string slice;              // systemd's, around the unit
    std::string cgroup;             // its path
    std::string path;               // of the program, as its processes see it
    std::string build_id{};         // hexadecimal digits; empty: unknown
    std::string package{};          // that the file belongs to; empty: none, or not known
    std::string package_version{};  // as the package manager writes it
    std::uint64_t samples = 0;      // of its processes, idle excluded

    friend bool operator==(const ProfileProgram&, const ProfileProgram&) = default;
};
inline constexpr std::size_t kMaxProfilePrograms = 2000;

struct ProfileStack {
    std::vector<std::uint32_t> functions;  // innermost first; at least one in what ProfileBuilder makes
    std::uint8_t flags = 0;                // StackFlag

    friend bool operator==(const ProfileStack&, const ProfileStack&) = default;
};

struct ProfileContext {
    std::string comm;
    std::string unit;       // systemd unit of the cgroup path; empty where there is none
    std::string container;  // short id; empty
    // Only where a file's analysis was asked to tell them apart; windows never are, and the store does not keep them.
    std::optional<Pid> pid{};
    std::optional<Tid> tid{};
    std::optional<CpuId> cpu{};
    std::string source_line{};  // of the sampled instruction: "file.c:12"

    friend bool operator==(const ProfileContext&, const ProfileContext&) = default;
};

struct ProfileSample {
    std::uint32_t event = 0;
    std::uint32_t stack = 0;
    std::uint32_t context = 0;
    bool idle = false;
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;

    friend bool operator==(const ProfileSample&, const ProfileSample&) = default;
};

struct ProfileCpu {
    CpuSlice sum;        // over the profile's slices
    ClockLedger ledger;  // Σ of the slices' ledgers
    Busy busy;           // of the sum, 95 %
    std::uint64_t run_delay_ns = 0;

    friend bool operator==(const ProfileCpu&, const ProfileCpu&) = default;
};

// One slice's small parts, kept so that variance and timelines outlive the raw data.
struct ProfileMoment {
    WallTime wall_end{};
    Nanoseconds length{};
    std::vector<EventTotals> totals;  // by Profile::events
    std::vector<ProfileCpu> cpus;
    struct TopFunction {
        std::uint32_t event = 0;
        std::uint32_t function = 0;
        std::uint64_t samples = 0;
        std::uint64_t weight = 0;
        friend bool operator==(const TopFunction&, const TopFunction&) = default;
    };
    std::vector<TopFunction> top;  // self, idle excluded, most weight first; kTopFunctions per event, fine ones all

    friend bool operator==(const ProfileMoment&, const ProfileMoment&) = default;
};
inline constexpr std::size_t kTopFunctions = 200;

struct BrokenStacks {
    std::string dso;
    std::uint64_t samples = 0;  // clock samples that passed through it (or all events where no clock was recorded)
    std::uint64_t broken = 0;
    friend bool operator==(const BrokenStacks&, const BrokenStacks&) = default;
};

// A unit that its own CPU limit kept from running (CPUQuota=, cpu.max), which no sample shows.
struct ProfileThrottledUnit {
    std::string unit;                     // as in ProfileContext, else the cgroup's path
    std::uint64_t periods = 0;            // of the limit in which it ran
    std::uint64_t throttled_periods = 0;  // … and was stopped
    Nanoseconds throttled{};              // summed over its run queues: may exceed the time that passed

    friend bool operator==(const ProfileThrottledUnit&, const ProfileThrottledUnit&) = default;
};
inline constexpr std::size_t kMaxThrottledUnits = 50;  // those that were stopped the longest

struct ProfileFact {
    std::string name;
    std::string value;
    friend bool operator==(const ProfileFact&, const ProfileFact&) = default;
};

struct ProfileHost {
    std::string hostname;
    std::string os_release;
    std::string architecture;
    std::string cpu_description;
    std::string recorder;  // "perfvigil 0.1.0"
    std::uint32_t cpus_online = 0;
    // What observations judge by; empty where the recording does not say.
    std::string kernel_command_line{};
    std::vector<ProfileFact> vulnerabilities{};  // "spec_rstack_overflow": /sys/devices/system/cpu/vulnerabilities
    std::vector<ProfileFact> kernel_config{};    // "CONFIG_KASAN": "y"; debugging and hardening options only
    std::vector<ProfileFact> settings{};         // "smt": "on" …: collector/host_settings.hpp
    friend bool operator==(const ProfileHost&, const ProfileHost&) = default;
};

struct Profile {
    std::string id;  // "20260131T120500Z": the end's minute in UTC; files: the file's name
    WallTime start{};
    WallTime end{};
    Nanoseconds duration{};
    ProfileHost host;
    std::vector<ProfileEvent> events;
    std::vector<ProfileFunction> functions;
    std::vector<ProfileDso> dsos;  // those whose build-id is known and one: a file replaced meanwhile is not here
    std::vector<ProfileProgram> programs;  // most samples first; the first of a unit is its main one
    std::vector<ProfileStack> stacks;
    std::vector<ProfileContext> contexts;
    std::vector<ProfileSample> samples;
    std::vector<ProfileCpu> cpus;
    std::vector<ProfileThrottledUnit> throttled_units;  // longest first
    std::vector<ProfileMoment> moments;
    std::vector<BrokenStacks> broken;
    std::vector<collector::Degraded> degraded;
    std::vector<std::string> warnings;  // whole sentences: lost samples, salvaged input …
    std::vector<std::string> notes;     // what the daemon did: rate changes, captures alongside …
    bool partial = false;               // closed early or late: clock step, suspend, shutdown
    bool maps_suspect = false;
    bool rounded = false;  // made from a printed report: flat, and no finer than its percentages
    std::string filter;    // what the samples were selected by, as on the command line; empty: nothing was left out

    friend bool operator==(const Profile&, const Profile&) = default;
};

// Self and total per function of one event, idle excluded, most self weight first.
struct FunctionTotals {
    std::uint32_t function = 0;
    std::uint64_t self_samples = 0;
    std::uint64_t self_weight = 0;
    std::uint64_t total_samples = 0;  // each sample counts once per function, however often it recurs in the chain
    std::uint64_t total_weight = 0;
};
enum class IdleRows : std::uint8_t { kExclude, kInclude };
[[nodiscard]] std::vector<FunctionTotals> function_totals(const Profile& profile, std::uint32_t event, IdleRows idle);

}  // namespace perfvigil::analyzer
