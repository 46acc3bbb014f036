// SPDX-License-Identifier: GPL-2.0-or-later
// A Profile that grows from names instead of addresses: what the readers of texts and of pprof have in common. Judges
// frames (kernel, idle, broken) by the names of functions and DSOs. Its tables are bounded: what no longer fits counts
// under "[cut]", and the profile says so.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/input/moment_sums.hpp"
#include "analyzer/profile.hpp"
#include "analyzer/profile/tables.hpp"
#include "analyzer/slice/kernel_text.hpp"

namespace perfvigil::analyzer {

inline constexpr Nanoseconds kImportedSlice = std::chrono::seconds(5);
inline constexpr Nanoseconds kFineImportedSlice = std::chrono::seconds(1);  // for comparisons

struct ImportedSample {
    std::uint32_t event = 0;
    std::uint32_t context = 0;
    std::span<const std::uint32_t> functions{};  // innermost first; none: the sample has no frames
    bool idle_task = false;                      // of the swapper: its frames say whether it is idle
    bool idle = false;                           // it is, whatever its frames say
    std::uint64_t samples = 1;
    std::uint64_t weight = 0;
    std::optional<Nanoseconds> time{};
};

class ProfileImport {
public:
    explicit ProfileImport(Nanoseconds slice_length = kImportedSlice) : moments_(slice_length) {}

    static constexpr std::size_t kMostEvents = 1024;
    // Of an event: a sample beyond it is left out and counted.
    static constexpr std::uint64_t kMostWeight = std::uint64_t{1} << 62;
    // The event of this name, made where there is none yet; nullopt when there are too many.
    [[nodiscard]] std::optional<std::uint32_t> event(std::string_view name);
    // Another one, whatever the others are called.
    [[nodiscard]] std::optional<std::uint32_t> new_event(std::string_view name);
    [[nodiscard]] ProfileEvent& event_at(std::uint32_t number) { return events_[number]; }
    [[nodiscard]] std::size_t events() const { return events_.size(); }

    // "[unknown]", an empty name and a bare address are unknown functions of their DSO.
    [[nodiscard]] std::uint32_t function(std::string_view name, std::string_view dso);
    // The same where something else than the DSO's name says whether it is the kernel.
    [[nodiscard]] std::uint32_t function(std::string_view name, std::string_view dso, bool kernel);
    [[nodiscard]] const ProfileFunction& function_at(std::uint32_t number) const { return tables_.function_at(number); }
    [[nodiscard]] std::uint32_t context(std::string_view comm) {
        return context({.comm = std::string(comm), .unit = {}, .container = {}});
    }
    [[nodiscard]] std::uint32_t context(const ProfileContext& context);

    // Whether its thread is an idle one, by its name.
    [[nodiscard]] bool is_idle_task(std::uint32_t context) const;

    // What it was doing; nullopt where no frame says so.
    std::optional<Mode> count(const ImportedSample& sample);
    // A sample that a selection leaves out, though the stretch of time it lies in is wanted.
    void leave_out(std::uint32_t event, Nanoseconds time) { moments_.add(time, event, MomentSums::kNone, 0, 0); }
    [[nodiscard]] Nanoseconds first_time() const { return moments_.first(); }
    [[nodiscard]] Nanoseconds last_time() const { return moments_.last(); }
    [[nodiscard]] bool has_times() const { return !moments_.empty(); }

    void warn(std::string sentence) { warnings_.push_back(std::move(sentence)); }

    // The events' sums are of what was counted; `host` and whatever else the file says is the caller's to add.
    [[nodiscard]] Profile finish();

private:
    enum Trait : std::uint8_t { kClass = 7, kKernel = 8, kUnmapped = 16, kUnnamed = 32 };
    [[nodiscard]] std::uint8_t flags_of(const ImportedSample& sample);
    [[nodiscard]] std::uint32_t cut_function();
    void warn_of_limits(Profile& profile) const;
    void warn_of_frames(Profile& profile) const;

    ProfileTables tables_;
    MomentSums moments_;
    std::vector<ProfileEvent> events_;
    std::vector<std::uint64_t> frameless_;  // samples without frames, by event
    std::vector<std::uint8_t> traits_;      // by function
    std::size_t name_bytes_ = 0;
    std::uint64_t cut_functions_ = 0;
    std::uint64_t cut_stacks_ = 0;
    std::uint64_t cut_contexts_ = 0;
    std::uint64_t overflows_ = 0;
    bool idle_by_task_ = false;
    std::vector<std::string> warnings_;
};

// "swapper", "swapper/3": the kernel's idle tasks.
[[nodiscard]] bool is_idle_comm(std::string_view comm);

// By the name alone: "cpu-clock:u" and "task-clock" in nanoseconds, "cycles:P" and "cpu_core/cycles/" in cycles.
[[nodiscard]] WeightUnit unit_of_event(std::string_view name);

}  // namespace perfvigil::analyzer
