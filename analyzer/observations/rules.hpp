// SPDX-License-Identifier: GPL-2.0-or-later
// One function per rule family. Each adds what it finds to `found` and nothing where its evidence is too thin; the
// order of rules does not matter. docs/observations.md says when each fires and why its thresholds are what they are.
#pragma once

#include <vector>

#include "analyzer/observations.hpp"
#include "analyzer/observations/tally.hpp"

namespace perfvigil::analyzer {

using Observations = std::vector<Observation>;

// Whether the numbers hold.
void judge_loss(const Tally& tally, Observations& found);
void judge_sample_count(const Tally& tally, Observations& found);
void judge_idle_share(const Tally& tally, Observations& found);
void judge_events(const Tally& tally, Observations& found);
void judge_cpus(const Tally& tally, Observations& found);
void judge_throttled_units(const Tally& tally, Observations& found);
void judge_cycles_in_idle(const Tally& tally, Observations& found);
void judge_polling(const Tally& tally, Observations& found);
// Whether the names and chains hold.
void judge_chains(const Tally& tally, Observations& found);
void judge_frameless_callers(const Tally& tally, Observations& found);
void judge_unknown(const Tally& tally, Observations& found);
void judge_interpreters(const Tally& tally, Observations& found);
void judge_modules(const Tally& tally, Observations& found);
void judge_irq_off(const Tally& tally, Observations& found);
// What costs time besides the code under analysis.
void judge_security_tax(const Tally& tally, Observations& found);
void judge_debug_tax(const Tally& tally, Observations& found);
void judge_locks(const Tally& tally, Observations& found);
void judge_memory(const Tally& tally, Observations& found);
void judge_kernel_entry(const Tally& tally, Observations& found);

}  // namespace perfvigil::analyzer
