// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/diff/callees.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/diff/statistics.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::uint32_t kOwnCode = std::numeric_limits<std::uint32_t>::max();
// The chi-squared distribution holds from about here on.
constexpr double kFewestExpected = 5;
constexpr std::uint64_t kFewestSamples = 20;  // of the function, on each side
constexpr std::size_t kMostCallees = 6;

struct Edge {
    std::uint32_t callee = kOwnCode;
    double weight = 0;
};
struct Caller {
    DiffCount total;
    std::vector<Edge> edges;
};
using Callers = boost::unordered_flat_map<std::uint32_t, Caller>;  // by key

// Each sample counts once for a function, at its outermost occurrence, with what that called. Unnamed callees are one.
Callers callers_of(const Profile& profile, std::uint32_t event, DiffKeys& keys) {
    Callers callers;
    boost::unordered_flat_map<std::uint64_t, double> edges;
    const std::uint32_t unnamed = keys.number("[unknown]", {}, false);
    std::vector<std::uint32_t> stack;
    std::vector<std::uint32_t> seen;
    for (const auto& sample : profile.samples) {
        if (sample.event != event || sample.idle) continue;
        stack.clear();
        for (const auto number : profile.stacks[sample.stack].functions) {
            const auto& function = profile.functions[number];
            stack.push_back(function.reason == UnknownReason::kNone
                                ? keys.number(function.name, base_name(function.dso), function.kernel)
                                : unnamed);
        }
        seen.clear();
        for (std::size_t i = stack.size(); i-- > 0;) {
            if (stack[i] == unnamed || std::ranges::find(seen, stack[i]) != seen.end()) continue;
            seen.push_back(stack[i]);
            callers[stack[i]].total.add(sample);
            const std::uint32_t callee = i == 0 ? kOwnCode : stack[i - 1];
            edges[(std::uint64_t{stack[i]} << 32U) | callee] += static_cast<double>(sample.weight);
        }
    }
    for (const auto& [which, weight] : edges) {
        callers[static_cast<std::uint32_t>(which >> 32U)].edges.push_back(
            {.callee = static_cast<std::uint32_t>(which), .weight = weight});
    }
    return callers;
}

struct Pair {
    std::uint32_t callee = kOwnCode;
    double before = 0;  // shares of the function's total
    double after = 0;
};

std::vector<Pair> pairs_of(const Caller& before, const Caller& after) {
    std::vector<Pair> pairs;
    for (const Edge& edge : before.edges) {
        pairs.push_back({.callee = edge.callee, .before = edge.weight / before.total.weight, .after = 0});
    }
    for (const Edge& edge : after.edges) {
        auto found = std::ranges::find(pairs, edge.callee, &Pair::callee);
        if (found == pairs.end()) found = pairs.insert(pairs.end(), {.callee = edge.callee, .before = 0, .after = 0});
        found->after = edge.weight / after.total.weight;
    }
    std::ranges::sort(pairs, [](const Pair& a, const Pair& b) {
        const double of_a = std::abs(a.after - a.before);
        const double of_b = std::abs(b.after - b.before);
        return of_a != of_b ? of_a > of_b : a.callee < b.callee;
    });
    return pairs;
}

double trials(const DiffCount& count) { return count.squares > 0 ? count.weight * count.weight / count.squares : 0; }

// Whether both sides divide alike: the chi-squared test, small callees taken together, the statistic divided by the
// largest dispersion of what takes part.
double p_of(std::uint32_t caller, const Caller& before, const Caller& after, const std::vector<Pair>& pairs,
            const std::function<double(std::uint32_t)>& dispersion) {
    const double n = trials(before.total);
    const double m = trials(after.total);
    double factor = dispersion(caller);
    double statistic = 0;
    double cells = 0;
    const auto add = [&](double in_before, double in_after) {
        const double expected = (n * in_before + m * in_after) / (n + m);
        if (std::min(n, m) * expected < kFewestExpected) return false;
        const double off = in_before - in_after;
        // (n·b − n·e)²/(n·e) + (m·a − m·e)²/(m·e), with both written by their difference.
        statistic += off * off * n * m / (n + m) / expected;
        ++cells;
        return true;
    };
    Pair small;
    for (const Pair& pair : pairs) {
        if (!add(pair.before, pair.after)) {
            small.before += pair.before;
            small.after += pair.after;
        } else if (pair.callee != kOwnCode) {
            factor = std::max(factor, dispersion(pair.callee));
        }
    }
    (void)add(small.before, small.after);
    return chi_squared_p(statistic / factor, cells - 1);
}

CalleeShift shift_of(const DiffKey& key, const Caller& before, const Caller& after, const std::vector<Pair>& pairs,
                     const DiffKeys& keys) {
    CalleeShift shift{.name = key.name,
                      .dso = key.dso,
                      .samples_before = before.total.samples,
                      .samples_after = after.total.samples,
                      .rate = 1,
                      .callees = {}};
    for (const Pair& pair : std::span(pairs).first(std::min(pairs.size(), kMostCallees))) {
        const DiffKey callee = pair.callee == kOwnCode ? DiffKey{} : keys.at(pair.callee);
        shift.callees.push_back({.name = callee.name, .dso = callee.dso, .before = pair.before, .after = pair.after});
    }
    return shift;
}

}  // namespace

std::vector<CalleeShift> callee_shifts(const CalleeQuestion& question, DiffKeys& keys,
                                       const std::function<double(std::uint32_t key)>& dispersion, double level) {
    const Callers before = callers_of(question.profile_before, question.event_before, keys);
    const Callers after = callers_of(question.profile_after, question.event_after, keys);
    std::vector<CalleeShift> shifts;
    std::vector<double> p;
    for (const auto& [key, caller] : before) {
        const auto other = after.find(key);
        if (other == after.end()) continue;
        if (std::min(caller.total.samples, other->second.total.samples) < kFewestSamples) continue;
        const auto pairs = pairs_of(caller, other->second);
        if (pairs.size() < 2) continue;
        p.push_back(p_of(key, caller, other->second, pairs, dispersion));
        shifts.push_back(shift_of(keys.at(key), caller, other->second, pairs, keys));
    }
    const auto rates = false_discovery_rates(p);
    for (std::size_t i = 0; i < shifts.size(); ++i) shifts[i].rate = rates[i];
    std::erase_if(shifts, [level](const CalleeShift& shift) { return shift.rate > level; });
    std::ranges::sort(shifts, [](const CalleeShift& a, const CalleeShift& b) {
        return a.rate != b.rate ? a.rate < b.rate : std::pair(a.name, a.dso) < std::pair(b.name, b.dso);
    });
    return shifts;
}

}  // namespace perfvigil::analyzer
