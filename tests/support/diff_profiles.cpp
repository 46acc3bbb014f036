// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/diff_profiles.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace perfvigil::test {

using analyzer::Profile;
using analyzer::ProfileMoment;

namespace {

ProfileMoment moment_of(const std::vector<std::uint64_t>& counts, const CountedProfile& how) {
    ProfileMoment moment;
    moment.length = how.slice;
    moment.totals.resize(1);
    moment.totals[0].samples = how.idle + std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    moment.totals[0].weight = moment.totals[0].samples * how.period;
    for (std::uint32_t function = 0; function < counts.size(); ++function) {
        if (counts[function] == 0) continue;
        moment.top.push_back(
            {.event = 0, .function = function, .samples = counts[function], .weight = counts[function] * how.period});
    }
    std::ranges::stable_sort(moment.top, std::greater{}, &ProfileMoment::TopFunction::weight);
    moment.top.resize(std::min(moment.top.size(), how.kept));
    return moment;
}

}  // namespace

Profile counted_profile(const SliceCounts& counts, const CountedProfile& how) {
    Profile profile;
    profile.id = how.id;
    profile.host.hostname = "host";
    profile.host.cpus_online = 1;
    const std::size_t functions = counts.empty() ? 0 : counts.front().size();
    std::vector<std::uint64_t> sums(functions, 0);
    for (const auto& slice : counts) {
        for (std::size_t i = 0; i < functions; ++i) sums[i] += slice[i];
        profile.moments.push_back(moment_of(slice, how));
        profile.duration += how.slice;
    }
    profile.contexts.push_back({.comm = "program", .unit = "program.service", .container = {}});
    for (std::uint32_t i = 0; i < functions; ++i) {
        profile.functions.push_back({.name = "function_" + std::to_string(i), .dso = "/usr/bin/program"});
        profile.stacks.push_back({.functions = {i, static_cast<std::uint32_t>(functions)}, .flags = 0});
        if (sums[i] == 0) continue;
        profile.samples.push_back(
            {.event = 0, .stack = i, .context = 0, .idle = false, .samples = sums[i], .weight = sums[i] * how.period});
    }
    profile.functions.push_back({.name = "main", .dso = "/usr/bin/program"});
    const std::uint64_t idle = how.idle * counts.size();
    const std::uint64_t samples = idle + std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    if (idle > 0) {
        profile.samples.push_back(
            {.event = 0, .stack = 0, .context = 0, .idle = true, .samples = idle, .weight = idle * how.period});
    }
    profile.events.push_back({.name = "cpu-clock",
                              .unit = analyzer::WeightUnit::kNanoseconds,
                              .frequency_mode = true,
                              .rate = 1'000'000'000 / how.period,
                              .nominal_period = Nanoseconds(static_cast<std::int64_t>(how.period)),
                              .samples = samples,
                              .weight = samples * how.period,
                              .idle_samples = idle,
                              .idle_weight = idle * how.period});
    return profile;
}

SliceCounts draw_counts(const LoadModel& model, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    const std::size_t functions = model.shares.size();
    std::vector<double> state(functions);
    for (auto& value : state) value = normal(random);
    SliceCounts counts(model.slices, std::vector<std::uint64_t>(functions, 0));
    const double fresh = std::sqrt(1 - model.persistence * model.persistence);
    for (auto& slice : counts) {
        std::vector<double> shares(functions);
        for (std::size_t i = 0; i < functions; ++i) {
            state[i] = model.persistence * state[i] + fresh * normal(random);
            shares[i] = model.shares[i] * std::exp(model.spread * state[i]);
        }
        // A multinomial draw: each function's part of what is left.
        double rest = std::accumulate(shares.begin(), shares.end(), 0.0);
        std::uint64_t left = model.samples_per_slice;
        for (std::size_t i = 0; i < functions && left > 0; ++i) {
            const double p = i + 1 == functions ? 1 : std::clamp(shares[i] / rest, 0.0, 1.0);
            std::binomial_distribution<std::uint64_t> binomial(left, p);
            slice[i] = binomial(random);
            left -= slice[i];
            rest -= shares[i];
        }
    }
    return counts;
}

}  // namespace perfvigil::test
