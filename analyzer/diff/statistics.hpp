// SPDX-License-Identifier: GPL-2.0-or-later
// What two sets of samples allow to say about a change. Pure functions of numbers; knows no profiles.
//
// A share or rate is k of n trials, where n is real-valued: samples that weigh differently are worth fewer. Its
// interval is Wilson's, that of a change Newcombe's (the two sides' distances to their bounds, squared and added),
// which holds for few samples and for none at all. What varies between slices beyond sampling makes n smaller by one
// factor: the moving-block bootstrap's variance over the binomial one, never under 1. The bootstrap's resampling of
// blocks needs no dice: a change is linear in its slices, so the variance over all draws is a sum over blocks. As it
// is estimated itself, Student's t with as many degrees of freedom as its blocks are worth takes the normal's place.
// A single function's factor is known badly from a few slices; those of all functions together tell how such factors
// lie here and how they grow with the share (a steady share of a restless whole varies by much more than sampling where
// it is large), and each is drawn towards that (Smyth 2004), unless it stands out above: then it counts as it is.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "analyzer/ledger.hpp"

namespace perfvigil::analyzer {

struct Estimate {
    double ratio = 0;   // k / n
    double trials = 0;  // n; 0: nothing is known
    double scale = 1;   // of the ratio's unit

    [[nodiscard]] double value() const { return ratio * scale; }
    [[nodiscard]] double sampling_variance() const;
};

// Slices that one block holds: the cube root of their number, rounded up.
[[nodiscard]] std::size_t block_length(std::size_t slices);
// The bootstrap's variance of a sum whose parts, slice by slice, differ from what was expected of them by `residuals`
// (which add up to 0), made unbiased for independent slices (4 % low for six of them).
[[nodiscard]] double block_variance(std::span<const double> residuals);
// What that variance is worth in degrees of freedom.
[[nodiscard]] double block_freedom(std::size_t slices);

// How much more than sampling a value varies, and how well that is known.
struct Dispersion {
    double factor = 1;
    double freedom = std::numeric_limits<double>::infinity();
};
struct BetweenSlices {  // of one side
    double variance = 0;
    double freedom = 1;
};
// As the slices have it: may be under 1.
[[nodiscard]] Dispersion dispersion_of(double sampling_variance, const BetweenSlices& before,
                                       const BetweenSlices& after);
// What to judge each value by, made of those of all; at least 1, where the freedom is infinite. `size`: how large the
// values are, in any unit. Fewer than kFewestTogether are left to themselves.
inline constexpr std::size_t kFewestTogether = 5;
[[nodiscard]] std::vector<Dispersion> moderated(std::span<const Dispersion> raw, std::span<const double> size);

// after − before: 95 %.
[[nodiscard]] Interval change_interval(const Estimate& before, const Estimate& after, const Dispersion& dispersion);
// How often chance alone would show as much, in either direction: under 0.05 exactly where the 95 % interval excludes
// 0.
[[nodiscard]] double change_p(const Estimate& before, const Estimate& after, const Dispersion& dispersion);

// Benjamini and Hochberg: for each p the smallest false discovery rate at which it is a discovery.
[[nodiscard]] std::vector<double> false_discovery_rates(std::span<const double> p);

// The smallest change of this share that would be noticed at the given two-sided level four times in five.
[[nodiscard]] double detectable_change(double share, double trials_before, double trials_after,
                                       const Dispersion& dispersion, double level);

// Whether groups differ: the upper tail of the chi-squared distribution.
[[nodiscard]] double chi_squared_p(double statistic, double freedom);

}  // namespace perfvigil::analyzer
