// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/diff/conditions.hpp"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "analyzer/profile/warnings.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// A profile whose parts leave more than this share of its stretch out says so.
constexpr double kGap = 0.05;
// Less than this share of a side in common is no more than its ends.
constexpr double kOverlap = 0.01;

bool has_samples(const ProfileEvent& event) { return event.samples > event.idle_samples; }

std::optional<std::uint32_t> find_event(const Profile& profile, std::string_view name) {
    for (std::uint32_t i = 0; i < profile.events.size(); ++i) {
        if (profile.events[i].name == name && has_samples(profile.events[i])) return i;
    }
    return std::nullopt;
}

std::string names_of_events(const Profile& profile) {
    std::string names;
    for (const auto& event : profile.events) {
        if (has_samples(event)) names += (names.empty() ? "" : ", ") + escape(event.name);
    }
    return names.empty() ? "no busy samples" : names;
}

bool fell_back(const Profile& profile) {
    return std::ranges::any_of(profile.degraded, [](const auto& degraded) { return degraded.reason == "no_pmu"; });
}

std::string_view unit_name(WeightUnit unit) {
    switch (unit) {
        case WeightUnit::kNanoseconds: return "time";
        case WeightUnit::kCycles: return "cycles";
        case WeightUnit::kEvents: break;
    }
    return "counts of events";
}

class Planner {
public:
    Planner(const Profile& before, const Profile& after, const DiffOptions& options)
        : before_(before), after_(after), options_(options) {}

    Result<DiffPlan> plan() {
        find_events();
        if (plan_.events.empty()) {
            return fail(ErrorCode::kInvalid,
                        fmt::format("nothing to compare: {} holds {}, {} holds {}", escape(before_.id),
                                    names_of_events(before_), escape(after_.id), names_of_events(after_)));
        }
        judge_fallback();
        for (const auto& events : plan_.events) judge_event(events);
        if (!against_.empty() && options_.caution == DiffCaution::kRefuse) {
            std::string message;
            for (const auto& reason : against_) message += reason + "; ";
            return fail(ErrorCode::kInvalid, message + "--force compares them all the same");
        }
        note_differences();
        for (const auto& reason : against_) plan_.notes.push_back("Forced: " + reason + ".");
        return std::move(plan_);
    }

private:
    [[nodiscard]] bool named() const { return options_.event_named || !options_.event.empty(); }

    void find_events() {
        std::vector<std::string_view> names;
        for (const auto& event : before_.events) {
            if (std::ranges::find(names, event.name) != names.end()) continue;  // cpu-clock twice: once will do
            names.push_back(event.name);
            if (!options_.event.empty() && event.name != options_.event) continue;
            const auto left = find_event(before_, event.name);
            const auto right = find_event(after_, event.name);
            if (left && right) plan_.events.push_back({.before = *left, .after = *right});
        }
        if (!plan_.events.empty() || named()) return;
        // Another event on each side: only by force.
        const auto left = std::ranges::find_if(before_.events, has_samples);
        const auto right = std::ranges::find_if(after_.events, has_samples);
        if (left == before_.events.end() || right == after_.events.end()) return;
        plan_.events.push_back({.before = static_cast<std::uint32_t>(left - before_.events.begin()),
                                .after = static_cast<std::uint32_t>(right - after_.events.begin())});
        against_.push_back(fmt::format("{} counts {}, {} counts {}", escape(before_.id), escape(left->name),
                                       escape(after_.id), escape(right->name)));
    }

    void judge_fallback() {
        if (fell_back(before_) == fell_back(after_)) return;
        const Profile& without = fell_back(before_) ? before_ : after_;
        // Who asks for the clock by name gets what both sides measured alike.
        if (named()) return;
        against_.push_back(
            fmt::format("{} was recorded without a cycle counter (no_pmu), the other side with one: "
                        "name what both recorded with --event",
                        escape(without.id)));
    }

    void judge_event(const DiffEvents& events) {
        const auto& left = before_.events[events.before];
        const auto& right = after_.events[events.after];
        if (left.unit != right.unit) {
            against_.push_back(fmt::format("{} weighs {} by {}, {} by {}", escape(before_.id), escape(left.name),
                                           unit_name(left.unit), escape(after_.id), unit_name(right.unit)));
        }
        judge_loss(before_, left);
        judge_loss(after_, right);
    }

    void judge_loss(const Profile& profile, const ProfileEvent& event) {
        const double all = static_cast<double>(std::max(event.samples, event.whole_samples) + event.lost);
        const double share = all > 0 ? static_cast<double>(event.lost) / all : 0;
        if (share <= kUnreliableLoss) return;
        against_.push_back(
            fmt::format("{:.1f} % of the {} samples of {} were lost{}, which hides most of what has "
                        "the highest rates",
                        100 * share, escape(event.name), escape(profile.id),
                        event.lost_is_shared ? " (or other records of the same rings)" : ""));
    }

    // Samples that both sides hold make a change smaller than it is, and both ends of it move together.
    void note_overlap() {
        const bool timed = before_.end != WallTime{} && after_.end != WallTime{};
        if (timed && before_.host.hostname == after_.host.hostname && before_.filter == after_.filter) {
            const auto from = std::max(before_.start, after_.start);
            const auto to = std::min(before_.end, after_.end);
            const double shorter =
                std::min(to_seconds(before_.end - before_.start), to_seconds(after_.end - after_.start));
            const double common = to_seconds(to - from);
            if (common <= kOverlap * shorter) return;
            plan_.notes.push_back(fmt::format(
                "The sides have {:.1f} s in common: samples of that time are on both, and what changed looks smaller "
                "than it is.",
                common));
        } else if (!timed && before_.id == after_.id && before_.samples == after_.samples) {
            plan_.notes.emplace_back("Both sides hold the same samples.");
        }
    }

    void note_differences() {
        for (const auto* profile : {&before_, &after_}) note_side(*profile);
        note_overlap();
        const auto cpus_before = before_.host.cpus_online;
        const auto cpus_after = after_.host.cpus_online;
        if (cpus_before != cpus_after && cpus_before != 0 && cpus_after != 0) {
            plan_.notes.push_back(fmt::format("The sides had {} and {} CPUs: absolute values are of all CPUs together.",
                                              cpus_before, cpus_after));
        }
        if (before_.filter != after_.filter) {
            plan_.notes.emplace_back("The sides were selected differently: their shares are of different wholes.");
        }
        for (const auto& [side, other] : {std::pair(&before_, &after_), std::pair(&after_, &before_)}) {
            for (const auto& event : side->events) {
                if (named() || !has_samples(event) || find_event(*other, event.name)) continue;
                plan_.notes.push_back(fmt::format("{} has samples in {} only and is not compared.", escape(event.name),
                                                  escape(side->id)));
            }
        }
    }

    void note_side(const Profile& profile) {
        if (!profile.filter.empty()) {
            plan_.notes.push_back(fmt::format("{} is a selection ({}): shares are of what it left.", escape(profile.id),
                                              escape(profile.filter)));
        }
        if (profile.rounded) {
            plan_.notes.push_back(fmt::format("{} was made from a printed report: rounded, without slices and times.",
                                              escape(profile.id)));
        }
        const double stretch = to_seconds(profile.end - profile.start);
        const double covered = to_seconds(profile.duration);
        if (profile.partial || (covered > 0 && stretch * (1 - kGap) > covered)) {
            plan_.notes.push_back(fmt::format("{} covers {:.1f} s of the {:.1f} s between its start and its end.",
                                              escape(profile.id), covered, std::max(stretch, covered)));
        }
        if (profile.maps_suspect) {
            plan_.notes.push_back(
                fmt::format("{} lost records of mappings: some of its functions may have wrong names or none.",
                            escape(profile.id)));
        }
    }

    const Profile& before_;
    const Profile& after_;
    const DiffOptions& options_;
    DiffPlan plan_;
    std::vector<std::string> against_;
};

}  // namespace

Result<DiffPlan> plan_comparison(const Profile& before, const Profile& after, const DiffOptions& options) {
    return Planner(before, after, options).plan();
}

}  // namespace perfvigil::analyzer
