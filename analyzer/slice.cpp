// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/slice.hpp"

#include <utility>

namespace perfvigil::analyzer {

void accumulate(EventTotals& sum, const EventTotals& more) {
    sum.samples += more.samples;
    sum.weight += more.weight;
    sum.lost += more.lost;
    sum.lost_is_shared |= more.lost_is_shared;
    sum.throttles += more.throttles;
    sum.throttled += more.throttled;
    sum.left_out_samples += more.left_out_samples;
    sum.left_out_weight += more.left_out_weight;
    if (more.nominal_period.count() > 0) sum.nominal_period = more.nominal_period;
}

void Slice::clear() {
    start = {};
    end = {};
    wall_end = {};
    frames.clear();
    stack_frames.clear();
    stacks.clear();
    for (auto& actor : actors) {
        actor.program.reset();
        spare_actors_.push_back(std::move(actor));
    }
    actors.clear();
    dsos.clear();
    entries.clear();
    totals.clear();
    cpus.clear();
    waits.run_delays.clear();
    waits.throttled.clear();
    late_records = 0;
    lost_side_band = 0;
    cut_frames = 0;
    maps_suspect = false;
    idle_by_task = false;
    clock_stepped = false;
    last = false;
}

Actor& Slice::add_actor() {
    if (spare_actors_.empty()) return actors.emplace_back();
    actors.push_back(std::move(spare_actors_.back()));
    spare_actors_.pop_back();
    return actors.back();
}

}  // namespace perfvigil::analyzer
