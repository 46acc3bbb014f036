// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/diff/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <numeric>
#include <utility>

namespace perfvigil::analyzer {
namespace {

constexpr double kLevel = 0.05;
constexpr double kPower = 0.8;
// Beyond it Student's t is the normal.
constexpr double kManyDegrees = 1e6;
// Beyond as many standard deviations evidence is overwhelming, and its p no number worth telling apart.
constexpr double kFarthest = 60;
constexpr int kBisections = 48;

// Of a factor far above the others: it is no draw of theirs.
constexpr double kOutlier = 0.01;
// Under this a factor is as good as none, and its logarithm no number.
constexpr double kSmallestFactor = 1e-6;

// Fewer factors show no slope.
constexpr std::size_t kFewestSloped = 8;

// x with trigamma(x) = y: Newton's method on 1/trigamma, which is nearly straight.
double inverse_trigamma(double y) {
    if (y > 1e7) return 1 / std::sqrt(y);
    if (y < 1e-6) return 1 / y;
    double x = 0.5 + 1 / y;
    for (int i = 0; i < 20; ++i) {
        const double now = boost::math::trigamma(x);
        constexpr double kStep = 1e-4;
        const double slope = (boost::math::trigamma(x * (1 + kStep)) - now) / (x * kStep);
        const double step = now * (1 - now / y) / slope;
        x += step;
        if (std::abs(step) < 1e-8 * x) break;
    }
    return x;
}

// How the factors lie: scaled inverse chi-squared around a middle that follows the size, `freedom` saying how closely.
class Prior {
public:
    void add(const Dispersion& raw, double size) {
        logs_.push_back(std::log(std::max(raw.factor, kSmallestFactor)) - boost::math::digamma(raw.freedom / 2) +
                        std::log(raw.freedom / 2));
        sizes_.push_back(std::log(size));
        expected_ += boost::math::trigamma(raw.freedom / 2);
    }
    [[nodiscard]] std::size_t size() const { return logs_.size(); }

    void fit() {
        const auto n = static_cast<double>(logs_.size());
        mean_size_ = std::accumulate(sizes_.begin(), sizes_.end(), 0.0) / n;
        mean_log_ = std::accumulate(logs_.begin(), logs_.end(), 0.0) / n;
        double spread = 0;
        double together = 0;
        for (std::size_t i = 0; i < logs_.size(); ++i) {
            spread += (sizes_[i] - mean_size_) * (sizes_[i] - mean_size_);
            together += (sizes_[i] - mean_size_) * (logs_[i] - mean_log_);
        }
        const bool sloped = logs_.size() >= kFewestSloped && spread > 1e-9 * n;
        slope_ = sloped ? together / spread : 0;
        double squares = 0;
        for (std::size_t i = 0; i < logs_.size(); ++i) {
            const double off = logs_[i] - mean_log_ - slope_ * (sizes_[i] - mean_size_);
            squares += off * off;
        }
        // Beyond what the logarithms of such estimates of one factor vary.
        const double excess = squares / (n - (sloped ? 2 : 1)) - expected_ / n;
        if (!(excess > 0)) return;
        freedom_ = 2 * inverse_trigamma(excess);
        shift_ = boost::math::digamma(freedom_ / 2) - std::log(freedom_ / 2);
    }

    [[nodiscard]] double freedom() const { return freedom_; }
    [[nodiscard]] double middle(double size) const {
        return std::exp(mean_log_ + slope_ * (std::log(size) - mean_size_) + shift_);
    }

private:
    std::vector<double> logs_;   // of factors, made unbiased
    std::vector<double> sizes_;  // logarithms
    double expected_ = 0;        // Σ variances of `logs_`
    double mean_size_ = 0;
    double mean_log_ = 0;
    double slope_ = 0;
    double shift_ = 0;
    double freedom_ = std::numeric_limits<double>::infinity();
};

bool stands_out(const Dispersion& raw, double middle, double prior_freedom) {
    if (!(raw.factor > middle)) return false;
    const double ratio = raw.factor / middle;
    if (prior_freedom > kManyDegrees) return chi_squared_p(ratio * raw.freedom, raw.freedom) < kOutlier;
    const boost::math::fisher_f f(raw.freedom, prior_freedom);
    return boost::math::cdf(boost::math::complement(f, ratio)) < kOutlier;
}

Dispersion at_least_sampling(const Dispersion& dispersion) { return dispersion.factor > 1 ? dispersion : Dispersion{}; }

double two_sided_quantile(double level, double freedom) {
    if (freedom > kManyDegrees) return boost::math::quantile(boost::math::complement(boost::math::normal(), level / 2));
    return boost::math::quantile(boost::math::complement(boost::math::students_t(freedom), level / 2));
}

double two_sided_tail(double deviations, double freedom) {
    if (freedom > kManyDegrees) return std::erfc(deviations / std::sqrt(2.0));
    return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(freedom), deviations));
}

Interval bounds(const Estimate& estimate, double factor, double deviations) {
    const double trials = estimate.trials / factor;
    const Interval ratio = wilson(estimate.ratio * trials, trials, deviations);
    return {ratio.low * estimate.scale, ratio.high * estimate.scale};
}

// The change's interval at so many standard deviations.
Interval change_bounds(const Estimate& before, const Estimate& after, double factor, double deviations) {
    const Interval b = bounds(before, factor, deviations);
    const Interval a = bounds(after, factor, deviations);
    const double change = after.value() - before.value();
    return {change - std::hypot(after.value() - a.low, b.high - before.value()),
            change + std::hypot(a.high - after.value(), before.value() - b.low)};
}

}  // namespace

double Estimate::sampling_variance() const {
    return trials > 0 ? scale * scale * ratio * std::max(0.0, 1 - ratio) / trials : 0;
}

std::size_t block_length(std::size_t slices) {
    // 1e-9: a cube's root may come out a trifle above it.
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(std::cbrt(static_cast<double>(slices)) - 1e-9)));
}

double block_variance(std::span<const double> residuals) {
    const std::size_t slices = residuals.size();
    const std::size_t length = block_length(slices);
    if (slices <= length) return 0;
    double sum = std::accumulate(residuals.begin(), residuals.begin() + static_cast<std::ptrdiff_t>(length), 0.0);
    double mean = 0;
    double squares = 0;
    for (std::size_t first = 0;; ++first) {
        mean += sum;
        squares += sum * sum;
        if (first + length == slices) break;
        sum += residuals[first + length] - residuals[first];
    }
    const auto blocks = static_cast<double>(slices - length + 1);
    mean /= blocks;
    const double of_block = std::max(0.0, squares / blocks - mean * mean);
    const auto n = static_cast<double>(slices);
    const auto b = static_cast<double>(length);
    return n / b * of_block / (1 - b / n);
}

// The variance over blocks of b weighs autocovariances as Bartlett's window does; the sum of that window's squares is
// how many slices one degree of freedom takes.
double block_freedom(std::size_t slices) {
    const auto b = static_cast<double>(block_length(slices));
    double squares = 1;
    for (double lag = 1; lag < b; ++lag) squares += 2 * (1 - lag / b) * (1 - lag / b);
    return std::max(1.0, static_cast<double>(slices) / squares - 1);
}

Dispersion dispersion_of(double sampling_variance, const BetweenSlices& before, const BetweenSlices& after) {
    const double between = before.variance + after.variance;
    if (!(sampling_variance > 0)) return {};
    if (!(between > 0)) return {.factor = 0, .freedom = before.freedom + after.freedom};
    // Welch and Satterthwaite.
    const double freedom =
        between * between /
        (before.variance * before.variance / before.freedom + after.variance * after.variance / after.freedom);
    return {.factor = between / sampling_variance, .freedom = freedom};
}

std::vector<Dispersion> moderated(std::span<const Dispersion> raw, std::span<const double> size) {
    const auto is_measured = [&](std::size_t i) { return std::isfinite(raw[i].freedom) && size[i] > 0; };
    Prior prior;
    for (std::size_t i = 0; i < raw.size(); ++i) {
        if (is_measured(i)) prior.add(raw[i], size[i]);
    }
    std::vector<Dispersion> result;
    if (prior.size() < kFewestTogether) {
        std::ranges::transform(raw, std::back_inserter(result), at_least_sampling);
        return result;
    }
    prior.fit();
    for (std::size_t i = 0; i < raw.size(); ++i) {
        Dispersion together = raw[i];
        const double middle = is_measured(i) ? prior.middle(size[i]) : 0;
        if (is_measured(i) && !stands_out(raw[i], middle, prior.freedom())) {
            together.freedom = raw[i].freedom + prior.freedom();
            together.factor = std::isfinite(prior.freedom())
                                  ? (raw[i].freedom * raw[i].factor + prior.freedom() * middle) / together.freedom
                                  : middle;
        }
        result.push_back(at_least_sampling(together));
    }
    return result;
}

Interval change_interval(const Estimate& before, const Estimate& after, const Dispersion& dispersion) {
    return change_bounds(before, after, dispersion.factor, two_sided_quantile(kLevel, dispersion.freedom));
}

double change_p(const Estimate& before, const Estimate& after, const Dispersion& dispersion) {
    if (before.value() == after.value()) return 1;
    const auto excludes_zero = [&](double deviations) {
        const Interval interval = change_bounds(before, after, dispersion.factor, deviations);
        return interval.low > 0 || interval.high < 0;
    };
    double low = 0;
    double high = kFarthest;
    for (int i = 0; i < kBisections && low < high; ++i) {
        const double middle = (low + high) / 2;
        (excludes_zero(middle) ? low : high) = middle;
    }
    return two_sided_tail(low, dispersion.freedom);
}

std::vector<double> false_discovery_rates(std::span<const double> p) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, std::greater{}, [&](std::size_t i) { return p[i]; });
    std::vector<double> rates(p.size());
    double smallest = 1;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto rank = static_cast<double>(p.size() - i);
        smallest = std::min(smallest, p[order[i]] * static_cast<double>(p.size()) / rank);
        rates[order[i]] = smallest;
    }
    return rates;
}

double detectable_change(double share, double trials_before, double trials_after, const Dispersion& dispersion,
                         double level) {
    if (!(trials_before > 0) || !(trials_after > 0)) return 1;
    const double variance = share * (1 - share) * (1 / trials_before + 1 / trials_after) * dispersion.factor;
    const double power = boost::math::quantile(boost::math::normal(), kPower);
    return std::min(1.0, (two_sided_quantile(level, dispersion.freedom) + power) * std::sqrt(variance));
}

double chi_squared_p(double statistic, double freedom) {
    if (!(statistic > 0) || !(freedom > 0)) return 1;
    return boost::math::cdf(boost::math::complement(boost::math::chi_squared(freedom), statistic));
}

}  // namespace perfvigil::analyzer
