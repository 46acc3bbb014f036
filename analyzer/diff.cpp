// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/diff.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "analyzer/diff/conditions.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// Poisson counts as binomial ones of very many trials.
constexpr double kRare = 1e-7;

DiffSideFacts facts_of(const Profile& profile, std::uint32_t event, const DiffSide& side) {
    const ProfileEvent& info = profile.events[event];
    const double whole = side.whole().weight;
    return {.id = profile.id,
            .duration = profile.duration,
            .cpus = profile.host.cpus_online,
            .rate = info.rate,
            .frequency_mode = info.frequency_mode,
            .samples = side.whole().samples,
            .idle_samples = info.idle_samples,
            .weight = whole,
            .unresolved = whole > 0 ? side.unresolved().weight / whole : 0,
            .slices = side.slice_seconds().size()};
}

// n of a share: as many samples of one weight as have its variance.
Estimate share_estimate(const DiffCount& part, const DiffCount& whole) {
    Estimate estimate;
    if (!(whole.weight > 0)) return estimate;
    const double p = std::min(1.0, part.weight / whole.weight);
    estimate.ratio = p;
    if (!(whole.squares > 0)) return estimate;
    const double rest = std::max(0.0, whole.squares - part.squares);
    const double variance = (part.squares * (1 - p) * (1 - p) + rest * p * p) / (whole.weight * whole.weight);
    estimate.trials =
        variance > 0 && p > 0 && p < 1 ? p * (1 - p) / variance : whole.weight * whole.weight / whole.squares;
    return estimate;
}

// What one side can say in absolute terms.
class Rate {
public:
    Rate(const Profile& profile, std::uint32_t event, const DiffCount& whole) : seconds_(to_seconds(profile.duration)) {
        if (!(seconds_ > 0) || !(whole.weight > 0) || whole.samples == 0) {
            seconds_ = 0;
            return;
        }
        of_sample_ = whole.squares / whole.weight;
        // A clock that ran on whole CPUs had so many ticks: a function is in some of them.
        if (profile.events[event].unit != WeightUnit::kNanoseconds) return;
        for (const auto& cpu : profile.cpus) {
            if (cpu.sum.clock_recorded) capacity_ += static_cast<double>(cpu.sum.enabled.count());
        }
        if (capacity_ < whole.weight) capacity_ = 0;
    }

    [[nodiscard]] bool known() const { return seconds_ > 0; }
    [[nodiscard]] double seconds() const { return seconds_; }
    [[nodiscard]] Estimate of(const DiffCount& part) const {
        if (!known()) return {};
        if (capacity_ > 0) {
            return {.ratio = part.weight / capacity_, .trials = capacity_ / of_sample_, .scale = capacity_ / seconds_};
        }
        const double weight = part.squares > 0 ? part.squares / part.weight : of_sample_;
        const double samples = part.weight / weight;
        const double trials = std::max(samples, 1.0) / kRare;
        return {.ratio = samples / trials, .trials = trials, .scale = trials * weight / seconds_};
    }

private:
    double seconds_;
    double of_sample_ = 0;  // weight
    double capacity_ = 0;   // weight that all CPUs together could have had; 0: unknown
};

class Comparison {
public:
    Comparison(const Profile& before, const Profile& after, DiffEvents events, const DiffOptions& options)
        : profile_before_(before),
          profile_after_(after),
          events_(events),
          by_(options.by),
          measure_(options.measure),
          before_(before, events.before, options.by, keys_),
          after_(after, events.after, options.by, keys_),
          rate_before_(before, events.before, before_.whole()),
          rate_after_(after, events.after, after_.whole()) {}

    Diff run() {
        Diff diff;
        diff.event = profile_before_.events[events_.before].name;
        diff.unit = profile_before_.events[events_.before].unit;
        diff.by = by_;
        diff.measure = measure_;
        diff.before = facts_of(profile_before_, events_.before, before_);
        diff.after = facts_of(profile_after_, events_.after, after_);
        diff.absolute_known =
            rate_before_.known() && rate_after_.known() && diff.unit == profile_after_.events[events_.after].unit;
        const auto& problem = before_.problem().empty() ? after_.problem() : before_.problem();
        diff.sampling_error_only = !problem.empty();
        diff.why_sampling_only = problem;
        draw_up(diff);
        if (by_ == DiffBy::kTotal) find_callee_shifts(diff);
        judge(diff);
        find_detectable(diff);
        return diff;
    }

private:
    // A change before it is known how much more than sampling it varies.
    struct Draft {
        Estimate before;
        Estimate after;
        Dispersion raw;
    };
    using Drafts = std::vector<Draft>;

    void draw_up(Diff& diff) {
        Drafts shares;
        Drafts rates;
        for (std::uint32_t key = 0; key < keys_.size(); ++key) {
            const DiffCount in_before = before_.count(key);
            const DiffCount in_after = after_.count(key);
            const DiffKey& what = keys_.at(key);
            diff.rows.push_back({.name = what.name,
                                 .dso = what.dso,
                                 .kernel = what.kernel,
                                 .samples_before = in_before.samples,
                                 .samples_after = in_after.samples,
                                 .share = {},
                                 .absolute = {}});
            diff.rows.back().tested = std::max(in_before.samples, in_after.samples) >= Diff::kFewestSamples;
            shares.push_back({.before = share_estimate(in_before, before_.whole()),
                              .after = share_estimate(in_after, after_.whole()),
                              .raw = {}});
            rates.push_back({.before = rate_before_.of(in_before), .after = rate_after_.of(in_after), .raw = {}});
            if (!diff.sampling_error_only && diff.rows.back().tested)
                measure_dispersion(key, shares.back(), rates.back());
        }
        finish(shares, diff.rows, &DiffRow::share);
        if (!diff.absolute_known) return;
        finish(rates, diff.rows, &DiffRow::absolute);
        if (diff.unit != WeightUnit::kNanoseconds) return;
        for (auto& row : diff.rows) in_seconds(row.absolute);
    }

    void measure_dispersion(std::uint32_t key, Draft& share, Draft& rate) const {
        const DiffSide::Series before = before_.series(key);
        const DiffSide::Series after = after_.series(key);
        share.raw = dispersion_of(share.before.sampling_variance() + share.after.sampling_variance(),
                                  between(before, before_.slice_weights()), between(after, after_.slice_weights()));
        rate.raw = dispersion_of(rate.before.sampling_variance() + rate.after.sampling_variance(),
                                 between(before, before_.slice_seconds()), between(after, after_.slice_seconds()));
    }

    // Those with few samples tell nothing about the others' dispersion, and get none of theirs.
    static void finish(const Drafts& drafts, std::vector<DiffRow>& rows, DiffChange DiffRow::* which) {
        std::vector<Dispersion> tested;
        std::vector<double> sizes;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (!rows[i].tested) continue;
            tested.push_back(drafts[i].raw);
            sizes.push_back(drafts[i].before.value() + drafts[i].after.value());
        }
        tested = moderated(tested, sizes);
        for (std::size_t i = 0, next = 0; i < rows.size(); ++i) {
            const Estimate& before = drafts[i].before;
            const Estimate& after = drafts[i].after;
            const Dispersion dispersion = rows[i].tested ? tested[next++] : Dispersion{};
            rows[i].*which = {.before = before.value(),
                              .after = after.value(),
                              .interval = change_interval(before, after, dispersion),
                              .p = change_p(before, after, dispersion),
                              .dispersion = dispersion.factor};
        }
    }

    // How a quotient of two sums over slices varies, by the slices: of first order, as a quotient's variance is.
    static BetweenSlices between(const DiffSide::Series& series, std::span<const double> base) {
        const double whole = std::accumulate(base.begin(), base.end(), 0.0);
        if (!(whole > 0)) return {};
        const double part = std::accumulate(series.weights.begin(), series.weights.end(), 0.0);
        std::vector<double> residuals(base.size());
        for (std::size_t i = 0; i < base.size(); ++i) {
            residuals[i] = (series.weights[i] - part / whole * base[i]) / whole;
        }
        return {.variance = block_variance(residuals) + series.unseen_variance / (whole * whole),
                .freedom = block_freedom(base.size())};
    }

    static void in_seconds(DiffChange& change) {
        for (double* value : {&change.before, &change.after, &change.interval.low, &change.interval.high})
            *value /= 1e9;
    }

    [[nodiscard]] const DiffChange& measured(const DiffRow& row) const {
        return measure_ == DiffMeasure::kAbsolute ? row.absolute : row.share;
    }

    void judge(Diff& diff) {
        std::ranges::sort(diff.rows, [this](const DiffRow& a, const DiffRow& b) {
            if (a.tested != b.tested) return a.tested;
            const DiffChange& of_a = measured(a);
            const DiffChange& of_b = measured(b);
            if (of_a.p != of_b.p) return of_a.p < of_b.p;
            if (std::abs(of_a.change()) != std::abs(of_b.change())) {
                return std::abs(of_a.change()) > std::abs(of_b.change());
            }
            return std::tie(a.name, a.dso) < std::tie(b.name, b.dso);
        });
        std::vector<double> p;
        for (const auto& row : diff.rows) {
            if (row.tested) p.push_back(measured(row).p);
        }
        const auto rates = false_discovery_rates(p);
        for (std::size_t i = 0; i < rates.size(); ++i) {
            diff.rows[i].rate = rates[i];
            diff.rows[i].significant = rates[i] <= Diff::kDiscoveryRate;
            diff.significant += diff.rows[i].significant ? 1 : 0;
        }
        diff.tested = rates.size();
    }

    // By what these rows varied: half of them varied less.
    void find_detectable(Diff& diff) const {
        if (diff.tested == 0) return;
        std::vector<double> factors;
        for (const auto& row : diff.rows) {
            if (row.tested) factors.push_back(row.share.dispersion);
        }
        std::ranges::nth_element(factors, factors.begin() + static_cast<std::ptrdiff_t>(factors.size() / 2));
        Dispersion dispersion;
        dispersion.factor = factors[factors.size() / 2];
        if (dispersion.factor > 1) {
            dispersion.freedom = block_freedom(diff.before.slices) + block_freedom(diff.after.slices);
        }
        const auto trials = [](const DiffCount& whole) {
            return whole.squares > 0 ? whole.weight * whole.weight / whole.squares : 0;
        };
        for (const double share : {0.01, 0.1, 0.5}) {
            const double change = detectable_change(share, trials(before_.whole()), trials(after_.whole()), dispersion,
                                                    Diff::kDiscoveryRate / static_cast<double>(diff.tested));
            diff.detectable.push_back({.share = share, .change = change});
        }
    }

    // Rows are still in the order of keys.
    void find_callee_shifts(Diff& diff) {
        diff.callees = callee_shifts(
            {.profile_before = profile_before_,
             .event_before = events_.before,
             .profile_after = profile_after_,
             .event_after = events_.after},
            keys_, [&](std::uint32_t key) { return key < diff.rows.size() ? diff.rows[key].share.dispersion : 1.0; },
            Diff::kDiscoveryRate);
    }

    const Profile& profile_before_;
    const Profile& profile_after_;
    DiffEvents events_;
    DiffBy by_;
    DiffMeasure measure_;
    DiffKeys keys_;
    DiffSide before_;
    DiffSide after_;
    Rate rate_before_;
    Rate rate_after_;
};

}  // namespace

Result<std::vector<Diff>> compare(const Profile& before, const Profile& after, const DiffOptions& options) {
    auto plan = plan_comparison(before, after, options);
    if (!plan) return fail(std::move(plan.error()));
    std::vector<Diff> diffs;
    for (const auto& events : plan->events) {
        diffs.push_back(Comparison(before, after, events, options).run());
        if (options.measure == DiffMeasure::kAbsolute && !diffs.back().absolute_known) {
            return fail(ErrorCode::kInvalid,
                        fmt::format("{}: absolute values need recordings in one unit that say how long they are; "
                                    "compare shares",
                                    escape(diffs.back().event)));
        }
        diffs.back().notes = plan->notes;
    }
    return diffs;
}

}  // namespace perfvigil::analyzer
