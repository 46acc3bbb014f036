// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/random_profile.hpp"

#include <limits>

namespace perfvigil::test {
namespace {

using analyzer::Profile;
using analyzer::ProfileCpu;

class Random {
public:
    explicit Random(std::mt19937_64& source) : source_(source) {}

    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(source_() % limit); }
    bool coin() { return source_() % 2 == 0; }
    // Any size of number, the extremes too.
    std::uint64_t number() {
        return coin() ? source_() >> below(64) : (coin() ? 0 : std::numeric_limits<std::uint64_t>::max());
    }
    std::uint32_t number32() { return static_cast<std::uint32_t>(number()); }
    std::int64_t signed_number() { return static_cast<std::int64_t>(number()); }
    Nanoseconds time() { return Nanoseconds((signed_number() >> 3) * (coin() ? 1 : -1)); }
    double real() { return std::uniform_real_distribution<double>(-1e12, 1e12)(source_); }
    std::string text() {
        std::string made(below(12), '\0');
        for (auto& c : made) c = static_cast<char>(below(256));
        return made;
    }
    template <class Make>
    auto list(std::size_t most, Make&& make) {
        std::vector<decltype(make())> made(below(most + 1));
        for (auto& item : made) item = make();
        return made;
    }

private:
    std::mt19937_64& source_;
};

ProfileCpu random_cpu(Random& r) {
    ProfileCpu cpu;
    auto& sum = cpu.sum;
    sum.cpu = CpuId{r.number32()};
    sum.clock_recorded = r.coin();
    sum.time_estimated = r.coin();
    sum.enabled = r.time();
    sum.ticks_due = r.real();
    sum.samples = r.number();
    sum.idle_samples = r.number();
    for (auto& time : sum.mode_time) time = r.time();
    sum.irq_in_idle = r.time();
    sum.lost = r.number();
    sum.lost_time = r.time();
    sum.throttled = r.time();
    sum.cycles_recorded = r.coin();
    sum.cycles_counted = r.number();
    sum.cycles_scaled = r.coin();
    sum.cycles_sampled = r.number();
    sum.cycles_samples = r.number();
    sum.cycles_idle = r.number();
    sum.cycles_lost = r.number();
    sum.cycles_throttled = r.time();
    sum.cycles_absent = r.time();
    sum.times_known = r.coin();
    sum.times = {CpuId{r.number32()}, r.number(), r.number(), r.number(),
                 r.number(),          r.number(), r.number(), r.number()};
    cpu.ledger = {r.signed_number(), r.signed_number(), r.signed_number(), r.signed_number(), r.signed_number(),
                  r.signed_number(), r.signed_number(), r.signed_number(), r.signed_number()};
    cpu.busy = {.ratio = r.real(), .interval = {r.real(), r.real()}, .coverage = r.real(), .known = r.coin()};
    cpu.run_delay_ns = r.number();
    return cpu;
}

analyzer::EventTotals random_totals(Random& r) {
    return {.samples = r.number(),
            .weight = r.number(),
            .lost = r.number(),
            .lost_is_shared = r.coin(),
            .throttles = r.number(),
            .throttled = r.time(),
            .nominal_period = r.time()};
}

}  // namespace

Profile random_profile(std::mt19937_64& source) {
    Random r(source);
    Profile p;
    p.id = r.text();
    p.start = WallTime(r.time());
    p.end = WallTime(r.time());
    p.duration = r.time();
    const auto facts = [&] { return r.list(3, [&] { return analyzer::ProfileFact{r.text(), r.text()}; }); };
    p.host = {r.text(), r.text(), r.text(), r.text(), r.text(), r.number32(), r.text(), facts(), facts(), facts()};
    p.rounded = r.coin();
    p.filter = r.text();
    p.events = r.list(4, [&] {
        return analyzer::ProfileEvent{.name = r.text(),
                                      .unit = static_cast<analyzer::WeightUnit>(r.below(3)),
                                      .frequency_mode = r.coin(),
                                      .rate = r.number(),
                                      .nominal_period = r.time(),
                                      .samples = r.number(),
                                      .weight = r.number(),
                                      .idle_samples = r.number(),
                                      .idle_weight = r.number(),
                                      .lost = r.number(),
                                      .lost_is_shared = r.coin(),
                                      .whole_samples = r.number(),
                                      .whole_weight = r.number()};
    });
    p.functions = r.list(20, [&] {
        return analyzer::ProfileFunction{.name = r.text(),
                                         .dso = r.coin() ? "/bin/same" : r.text(),
                                         .kernel = r.coin(),
                                         .reason = static_cast<analyzer::UnknownReason>(
                                             r.below(static_cast<std::size_t>(analyzer::UnknownReason::kUnmapped) + 1)),
                                         .variants = r.list(r.coin() ? 1 : 3, [&] { return r.text(); })};
    });
    p.programs = r.list(4, [&] {
        return analyzer::ProfileProgram{.unit = r.text(),
                                        .container = r.text(),
                                        .slice = r.text(),
                                        .cgroup = r.text(),
                                        .path = r.text(),
                                        .build_id = r.text(),
                                        .package = r.text(),
                                        .package_version = r.text(),
                                        .samples = r.number()};
    });
    p.throttled_units = r.list(3, [&] {
        return analyzer::ProfileThrottledUnit{
            .unit = r.text(), .periods = r.number(), .throttled_periods = r.number(), .throttled = r.time()};
    });
    p.dsos = r.list(4, [&] { return analyzer::ProfileDso{r.text(), r.text()}; });
    const auto index_in = [&](const auto& table) { return static_cast<std::uint32_t>(r.below(table.size())); };
    if (!p.functions.empty()) {
        p.stacks = r.list(30, [&] {
            return analyzer::ProfileStack{.functions = r.list(10, [&] { return index_in(p.functions); }),
                                          .flags = static_cast<std::uint8_t>(r.below(256))};
        });
    }
    p.contexts =
        r.list(5, [&] { return analyzer::ProfileContext{.comm = r.text(), .unit = r.text(), .container = r.text()}; });
    if (!p.events.empty() && !p.stacks.empty() && !p.contexts.empty()) {
        p.samples = r.list(40, [&] {
            return analyzer::ProfileSample{.event = index_in(p.events),
                                           .stack = index_in(p.stacks),
                                           .context = index_in(p.contexts),
                                           .idle = r.coin(),
                                           .samples = r.number(),
                                           .weight = r.number()};
        });
    }
    p.cpus = r.list(4, [&] { return random_cpu(r); });
    p.moments = r.list(4, [&] {
        analyzer::ProfileMoment moment;
        moment.wall_end = WallTime(r.time());
        moment.length = r.time();
        moment.totals = r.list(p.events.size(), [&] { return random_totals(r); });
        moment.cpus = r.list(3, [&] { return random_cpu(r); });
        if (!p.events.empty() && !p.functions.empty()) {
            moment.top = r.list(5, [&] {
                return analyzer::ProfileMoment::TopFunction{.event = index_in(p.events),
                                                            .function = index_in(p.functions),
                                                            .samples = r.number(),
                                                            .weight = r.number()};
            });
        }
        return moment;
    });
    p.broken = r.list(3, [&] { return analyzer::BrokenStacks{r.text(), r.number(), r.number()}; });
    p.degraded = r.list(3, [&] { return collector::Degraded{r.text(), r.text(), r.text()}; });
    p.warnings = r.list(3, [&] { return r.text(); });
    p.notes = r.list(3, [&] { return r.text(); });
    p.partial = r.coin();
    p.maps_suspect = r.coin();
    return p;
}

}  // namespace perfvigil::test
