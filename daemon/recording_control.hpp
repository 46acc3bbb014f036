// SPDX-License-Identifier: GPL-2.0-or-later
// Decides, slice by slice, how to go on recording: what answers loss, what keeps the budget of CPU time, and when it is
// given back. A state machine without I/O: it is told what a slice lost and cost, and says which tuning is wanted.
//
//   loss over 0.1 % of a slice's samples   larger sample ring (as far as rings.total) ▸ lower frequency ▸ shorter
//   chains side-band records lost                 larger side-band ring budget.cpu exceeded                    no raw
//   captures ▸ lower frequency ▸ shorter chains calm for five minutes                  one step back, the newest that
//   loss and budget allow
//
// The budget is exceeded when the use of now adds up to too much in seconds, or when some five minutes (spending.hpp)
// would come out over it although the use of now is within it: what the start or a burst took is paid back.
//
// A change of tuning takes force at a later slice boundary (RecordingSession::retune); until then nothing is judged.
// Knows nothing of rings, threads or files. Thread: the sampler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/recording_options.hpp"
#include "daemon/spending.hpp"

namespace perfvigil::daemon {

enum class Knob : std::uint8_t { kSampleRing, kSideBandRing, kCaptures, kFrequency, kMaxStack };
inline constexpr std::size_t kKnobs = 5;
inline constexpr std::array<std::string_view, kKnobs> kKnobNames{"sample_ring", "side_band_ring", "captures",
                                                                 "frequency", "max_stack"};
enum class Cause : std::uint8_t { kLoss, kBudget, kCalm };
inline constexpr std::size_t kCauses = 3;
inline constexpr std::array<std::string_view, kCauses> kCauseNames{"loss", "budget", "calm"};

// Steps taken so far.
using StepCounts = std::array<std::array<std::uint64_t, kCauses>, kKnobs>;

struct ControlLimits {
    std::uint64_t rings_total = 0;  // bytes; old and new rings are open together for a moment
    double budget = 0;              // share of the host's CPU time; 0: unlimited
    std::size_t page_size = 4096;
};

// What a slice says of its recording.
struct SliceLoad {
    Nanoseconds length{};
    std::size_t cpus = 0;  // recorded
    std::uint64_t samples = 0;
    std::uint64_t lost_samples = 0;
    std::uint64_t lost_side_band = 0;  // records
    double sampling = 0;               // share of the host's CPU time: the kernel's, for sampling
    double processes = 0;              // … of the daemon's processes
    collector::Tuning in_force{};      // with which it was recorded
};

struct ControlStep {
    Knob knob{};
    Cause cause{};
    std::uint64_t before = 0;  // in the knob's unit: bytes, hertz, frames; captures: 1 or 0
    std::uint64_t after = 0;
    std::string text;  // a sentence: why, and what
};

class RecordingControl {
public:
    enum class Captures : std::uint8_t { kNone, kKept };

    RecordingControl(const ControlLimits& limits, const collector::Tuning& asked, Captures captures);

    // Other wishes: what was stepped back from is forgotten.
    void ask(const collector::Tuning& asked);
    void set_budget(double budget) { limits_.budget = budget; }
    // Bytes that rings of captures on demand take of rings.total now.
    void set_rings_taken(std::uint64_t bytes) { rings_taken_ = bytes; }

    // Before the first slice: what the start took, share of the host's CPU time × seconds.
    void start_took(double spent) { spending_.add(0, spent); }
    // Each slice once, in order; the steps it leads to.
    [[nodiscard]] std::vector<ControlStep> judge(const SliceLoad& load);

    [[nodiscard]] const collector::Tuning& tuning() const { return tuning_; }
    [[nodiscard]] bool keeps_captures() const { return captures_; }
    [[nodiscard]] const StepCounts& counts() const { return counts_; }
    // What is reduced at present, by cause.
    [[nodiscard]] std::vector<collector::Degraded> degraded() const;

private:
    struct Taken {
        Knob knob{};
        Cause cause{};
        std::uint64_t before = 0;
        double processes = 0;  // their share when it was taken
        double sampling = 0;   // … and the kernel's
    };

    [[nodiscard]] bool settled(const SliceLoad& load, std::vector<ControlStep>& steps);
    void adopt(const SliceLoad& load, std::vector<ControlStep>& steps);
    void answer_loss(const SliceLoad& load, std::vector<ControlStep>& steps);
    void answer_side_band_loss(const SliceLoad& load, std::vector<ControlStep>& steps);
    [[nodiscard]] bool over_budget(const SliceLoad& load);
    void answer_budget(std::vector<ControlStep>& steps);
    [[nodiscard]] double lasting_use() const;
    [[nodiscard]] double aim() const;
    [[nodiscard]] bool shorten_chains(Cause cause, const std::string& why, std::vector<ControlStep>& steps);
    [[nodiscard]] bool lower_frequency(Cause cause, double factor, const std::string& why,
                                       std::vector<ControlStep>& steps);
    void give_back(std::vector<ControlStep>& steps);
    [[nodiscard]] std::uint64_t affordable(const Taken& taken) const;
    void step(Knob knob, Cause cause, std::uint64_t after, const std::string& why, std::vector<ControlStep>& steps);
    [[nodiscard]] std::uint64_t largest_ring(Knob knob, std::uint64_t wanted, const SliceLoad& load) const;

    [[nodiscard]] std::uint64_t value(Knob knob) const;
    [[nodiscard]] static std::uint64_t value(Knob knob, const collector::Tuning& tuning);
    void set_value(Knob knob, std::uint64_t value);
    [[nodiscard]] bool stuck(Knob knob) const { return stuck_[static_cast<std::size_t>(knob)]; }
    void restart_budget();

    ControlLimits limits_;
    std::uint64_t rings_taken_ = 0;
    collector::Tuning asked_;
    collector::Tuning tuning_;
    bool has_captures_;
    bool captures_;
    std::vector<Taken> taken_;  // oldest first; what it takes to get back to asked_
    std::vector<Knob> pending_;
    int waited_ = 0;                      // slices for what is pending
    std::array<bool, kKnobs> stuck_{};    // the session could not do it
    std::array<bool, kCauses> at_end_{};  // nothing is left to give up
    Spending spending_;                   // whatever the steps
    double debt_ = 0;                     // seconds × share over the budget since the last step, that no calm has paid
    double spent_by_processes_ = 0;       // share × seconds since the last step
    double lasting_by_processes_ = 0;     // … without the most of what may be bursts
    double spent_by_sampling_ = 0;
    double watched_ = 0;  // seconds since the last step
    Nanoseconds calm_{};
    Nanoseconds patience_;            // calm that is asked for
    Nanoseconds since_given_back_{};  // until something is needed again
    bool gave_back_ = false;
    StepCounts counts_{};
};

}  // namespace perfvigil::daemon
