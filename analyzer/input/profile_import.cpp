// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/profile_import.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "analyzer/input/broken_stacks.hpp"
#include "analyzer/input/dso_name.hpp"

namespace perfvigil::analyzer {
namespace {

// Far above any recording; a bound for a text without end.
constexpr std::size_t kMostFunctions = 1U << 20;
constexpr std::size_t kMostNameBytes = 256U << 20;
constexpr std::size_t kMostStacks = 4U << 20;
constexpr std::size_t kMostSamples = 6U << 20;
constexpr std::size_t kMostContexts = 1U << 16;
constexpr std::string_view kUnknown = "[unknown]";
constexpr std::string_view kCut = "[cut]";
constexpr std::size_t kDeepest = 127;  // kernel.perf_event_max_stack

bool is_address(std::string_view name) {
    return name.size() > 2 && name.starts_with("0x") &&
           name.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
}

}  // namespace

bool is_idle_comm(std::string_view comm) { return comm == "swapper" || comm.starts_with("swapper/"); }

WeightUnit unit_of_event(std::string_view name) {
    if (const auto slash = name.find('/'); slash != std::string_view::npos) {
        name.remove_prefix(slash + 1);
        name = name.substr(0, name.find('/'));
    }
    name = name.substr(0, name.find(':'));
    if (name == "cpu-clock" || name == "task-clock") return WeightUnit::kNanoseconds;
    if (name == "cycles" || name == "cpu-cycles") return WeightUnit::kCycles;
    return WeightUnit::kEvents;
}

std::optional<std::uint32_t> ProfileImport::event(std::string_view name) {
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
        if (events_[i].name == name) return i;
    }
    return new_event(name);
}

std::optional<std::uint32_t> ProfileImport::new_event(std::string_view name) {
    if (events_.size() >= kMostEvents) return std::nullopt;
    auto& added = events_.emplace_back();
    added.name = name;
    frameless_.push_back(0);
    return static_cast<std::uint32_t>(events_.size() - 1);
}

std::uint32_t ProfileImport::cut_function() {
    const std::uint32_t number = tables_.function(kCut, kCut, false, UnknownReason::kNone);
    if (number >= traits_.size()) traits_.resize(number + 1);  // neither kernel nor unmapped
    return number;
}

std::uint32_t ProfileImport::function(std::string_view name, std::string_view dso) {
    return function(name, dso, is_kernel_dso(dso));
}

std::uint32_t ProfileImport::function(std::string_view name, std::string_view dso, bool kernel) {
    if (tables_.functions() >= kMostFunctions || name_bytes_ >= kMostNameBytes) {
        ++cut_functions_;
        return cut_function();
    }
    UnknownReason reason = UnknownReason::kNone;
    if (name.empty() || name == kUnknown || is_address(name)) {
        reason = dso.empty() || dso == kUnknown ? UnknownReason::kUnmapped : UnknownReason::kOutsideSymbols;
        name = kUnknown;
    }
    const std::uint32_t number = tables_.function(name, dso, kernel, reason);
    if (number < traits_.size()) return number;
    name_bytes_ += name.size() + dso.size();
    const auto text_class = kernel ? KernelText::class_of_symbol(name) : TextClass::kOther;
    auto traits = static_cast<std::uint8_t>(text_class);
    if (kernel) traits |= kKernel;
    if (reason == UnknownReason::kUnmapped) traits |= kUnmapped;
    if (reason != UnknownReason::kNone) traits |= kUnnamed;
    traits_.push_back(traits);
    return number;
}

std::uint32_t ProfileImport::context(const ProfileContext& context) {
    if (tables_.contexts() < kMostContexts) return tables_.context(context);
    ++cut_contexts_;
    return tables_.context({.comm = std::string(kCut), .unit = {}, .container = {}});
}

bool ProfileImport::is_idle_task(std::uint32_t context) const { return is_idle_comm(tables_.context_at(context).comm); }

// As ChainResolver judges addresses: the innermost interrupt, softirq or task work of the kernel's part decides.
std::uint8_t ProfileImport::flags_of(const ImportedSample& sample) {
    const auto functions = sample.functions;
    if (functions.empty()) return 0;
    std::uint8_t flags = functions.size() >= kDeepest ? kStackTruncated : 0;
    auto decided = TextClass::kOther;
    bool idle_seen = false;
    std::size_t kernel = 0;
    std::size_t named = 0;  // of the kernel's
    std::size_t mapped = 0;
    for (const auto function : functions) {
        const std::uint8_t traits = traits_[function];
        mapped += (traits & kUnmapped) == 0 ? 1 : 0;
        if ((traits & kKernel) == 0) continue;
        ++kernel;
        named += (traits & kUnnamed) == 0 ? 1 : 0;
        const auto text_class = static_cast<TextClass>(traits & kClass);
        idle_seen |= text_class == TextClass::kIdleLoop || text_class == TextClass::kIdlePoll;
        const bool decides = text_class == TextClass::kInterrupt || text_class == TextClass::kSoftirq ||
                             text_class == TextClass::kTaskWork;
        if (decides && decided == TextClass::kOther) decided = text_class;
    }
    if ((traits_[functions.front()] & kKernel) != 0) flags |= kStackKernelLeaf;
    if (mapped != 0 && (traits_[functions.back()] & kUnmapped) != 0) flags |= kStackBroken;
    if (decided == TextClass::kInterrupt || decided == TextClass::kSoftirq) {
        flags |= kStackSoftirq;
    } else if (idle_seen || (sample.idle_task && kernel == 1 && functions.size() == 1)) {
        flags |= kStackIdleLoop;
    } else if (sample.idle_task && kernel != 0 && named == 0) {
        flags |= kStackIdleLoop;
        idle_by_task_ = true;
    }
    return flags;
}

std::optional<Mode> ProfileImport::count(const ImportedSample& sample) {
    ProfileEvent& event = events_[sample.event];
    if (sample.samples > kMostWeight - event.samples || sample.weight > kMostWeight - event.weight) {
        ++overflows_;
        return std::nullopt;
    }
    const std::uint8_t flags = flags_of(sample);
    const auto functions = sample.functions;
    bool idle = sample.idle || (sample.idle_task && (flags & kStackKernelLeaf) != 0 && (flags & kStackIdleLoop) != 0);
    if (functions.empty()) {
        frameless_[sample.event] += sample.samples;
        idle_by_task_ |= sample.idle_task && !sample.idle;
        idle |= sample.idle_task;
    }
    if (tables_.stacks() >= kMostStacks || tables_.samples() >= kMostSamples) {
        ++cut_stacks_;
        const std::uint32_t cut = cut_function();
        tables_.count(sample.event, tables_.stack({&cut, 1}, kStackCut), sample.context, idle, sample.samples,
                      sample.weight);
    } else {
        tables_.count(sample.event, tables_.stack(functions, flags), sample.context, idle, sample.samples,
                      sample.weight);
    }
    event.samples += sample.samples;
    event.weight += sample.weight;
    event.idle_samples += idle ? sample.samples : 0;
    event.idle_weight += idle ? sample.weight : 0;
    if (sample.time) {
        const std::uint32_t self = idle || functions.empty() ? MomentSums::kNone : functions.front();
        moments_.add(*sample.time, sample.event, self, sample.samples, sample.weight);
    }
    if (idle) return Mode::kIdle;
    if (functions.empty()) return std::nullopt;
    if ((flags & kStackSoftirq) != 0) return Mode::kSoftirq;
    return (flags & kStackKernelLeaf) != 0 ? Mode::kKernel : Mode::kUser;
}

Profile ProfileImport::finish() {
    Profile profile;
    profile.duration = moments_.duration();
    profile.moments = moments_.build(events_.size());
    profile.events = std::move(events_);
    tables_.hand_over(profile);
    profile.broken = broken_stacks(profile);
    profile.warnings = std::move(warnings_);
    warn_of_limits(profile);
    warn_of_frames(profile);
    if (moments_.steps_back() != 0) {
        profile.warnings.push_back(fmt::format("{} {} older than the one before: the times were sorted.",
                                               moments_.steps_back(),
                                               moments_.steps_back() == 1 ? "sample is" : "samples are"));
    }
    if (idle_by_task_) {
        profile.degraded.push_back(
            {.reason = "idle_by_task",
             .detail = "Samples of the idle task have no frames, or none with a name, so idle is told from the task "
                       "alone: interrupt work that it is interrupted for counts as idle.",
             .remedy = "Print frames and their symbols, or read the perf.data file itself."});
    }
    return profile;
}

void ProfileImport::warn_of_limits(Profile& profile) const {
    const auto say = [&](std::uint64_t count, std::string_view what) {
        if (count != 0)
            profile.warnings.push_back(fmt::format("{} {} counted as [cut] to stay within memory.", count, what));
    };
    say(cut_functions_, "frames of functions beyond the first million are");
    say(cut_stacks_, "samples of stacks beyond the first millions are");
    if (overflows_ != 0) {
        profile.warnings.push_back(
            fmt::format("{} samples have weights that no recording has: they were left out.", overflows_));
    }
    say(cut_contexts_, "samples of commands beyond the first 65536 are");
}

void ProfileImport::warn_of_frames(Profile& profile) const {
    for (std::size_t i = 0; i < profile.events.size(); ++i) {
        const auto& event = profile.events[i];
        if (frameless_[i] == 0) continue;
        profile.warnings.push_back(
            fmt::format("{} of the {} samples of {} have no frames: they count in its total, but for no function.",
                        frameless_[i], event.samples, event.name));
    }
}

}  // namespace perfvigil::analyzer
