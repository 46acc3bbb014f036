// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice/moment_tables.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace perfvigil::analyzer {

void merge_rows(TopFunctions& rows) {
    std::ranges::sort(rows, {}, [](const auto& row) { return std::pair(row.event, row.function); });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (kept > 0 && rows[kept - 1].event == rows[i].event && rows[kept - 1].function == rows[i].function) {
            rows[kept - 1].samples += rows[i].samples;
            rows[kept - 1].weight += rows[i].weight;
        } else {
            rows[kept++] = rows[i];
        }
    }
    rows.resize(kept);
}

void keep_top(TopFunctions& rows, std::size_t most) {
    std::ranges::sort(rows, [](const auto& a, const auto& b) {
        if (a.event != b.event) return a.event < b.event;
        return a.weight != b.weight ? a.weight > b.weight : a.function < b.function;
    });
    std::size_t in_event = 0;
    std::uint32_t event = std::numeric_limits<std::uint32_t>::max();
    std::erase_if(rows, [&](const auto& row) {
        in_event = row.event == event ? in_event + 1 : 1;
        event = row.event;
        return in_event > most;
    });
}

void add_cpus(std::vector<ProfileCpu>& sum, const std::vector<ProfileCpu>& more) {
    for (const auto& cpu : more) {
        auto at = std::ranges::lower_bound(sum, cpu.sum.cpu, {}, [](const ProfileCpu& known) { return known.sum.cpu; });
        if (at == sum.end() || at->sum.cpu != cpu.sum.cpu) at = sum.insert(at, ProfileCpu{});
        accumulate(at->sum, cpu.sum);
        at->ledger += cpu.ledger;
        at->run_delay_ns += cpu.run_delay_ns;
    }
    for (auto& cpu : sum) cpu.busy = busy_of(cpu.sum);
}

void join_moments(ProfileMoment& into, ProfileMoment&& more) {
    into.wall_end = more.wall_end;
    into.length += more.length;
    into.top.insert(into.top.end(), more.top.begin(), more.top.end());
    merge_rows(into.top);
    if (into.totals.size() < more.totals.size()) into.totals.resize(more.totals.size());
    for (std::size_t i = 0; i < more.totals.size(); ++i) accumulate(into.totals[i], more.totals[i]);
    add_cpus(into.cpus, more.cpus);
}

void FineMoments::add(Nanoseconds length, TopFunctions rows, const std::vector<EventTotals>& totals) {
    ProfileMoment part;
    part.length = length;
    part.top = std::move(rows);
    merge_rows(part.top);
    part.totals = totals;
    if (!moments_.empty() && moments_.back().length + length <= grain_) {
        join_moments(moments_.back(), std::move(part));
        return;
    }
    moments_.push_back(std::move(part));
    if (moments_.size() > kMost) halve();
}

void FineMoments::halve() {
    grain_ *= 2;
    std::vector<ProfileMoment> halved;
    for (std::size_t i = 0; i + 1 < moments_.size(); i += 2) {
        join_moments(moments_[i], std::move(moments_[i + 1]));
        halved.push_back(std::move(moments_[i]));
    }
    if (moments_.size() % 2 != 0) halved.push_back(std::move(moments_.back()));
    moments_ = std::move(halved);
}

std::vector<ProfileMoment> FineMoments::take(WallTime end, std::size_t events) {
    // A stub at the end says little by itself.
    if (moments_.size() > 1 && moments_.back().length * 2 < moments_[moments_.size() - 2].length) {
        join_moments(moments_[moments_.size() - 2], std::move(moments_.back()));
        moments_.pop_back();
    }
    auto moments = std::exchange(moments_, {});
    WallTime at = end;
    for (std::size_t i = moments.size(); i-- > 0;) {
        ProfileMoment& moment = moments[i];
        if (end != WallTime{}) {
            moment.wall_end = at;
            at -= moment.length;
        }
        moment.totals.resize(events);
        // The order that a slice's top has; all of it is kept.
        std::ranges::sort(moment.top, [](const auto& a, const auto& b) {
            if (a.event != b.event) return a.event < b.event;
            return a.weight != b.weight ? a.weight > b.weight : a.function < b.function;
        });
    }
    return moments;
}

}  // namespace perfvigil::analyzer
