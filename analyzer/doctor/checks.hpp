// SPDX-License-Identifier: GPL-2.0-or-later
// The checks of the doctor, each a pure function of the facts. Internal to analyzer/doctor.
#pragma once

#include "analyzer/doctor/facts.hpp"
#include "analyzer/doctor/finding.hpp"

namespace perfvigil::analyzer::doctor {

// Whether a trial showed that cpu-clock may be opened (checks_events.cpp).
[[nodiscard]] bool opens_clock(const Facts& facts);

// checks_rights.cpp: may we?
[[nodiscard]] Finding check_paranoid(const Facts& facts);
[[nodiscard]] Finding check_capabilities(const Facts& facts);
[[nodiscard]] Finding check_kernel_symbols(const Facts& facts);
[[nodiscard]] Finding check_locked_memory(const Facts& facts);
[[nodiscard]] Finding check_open_files(const Facts& facts);
[[nodiscard]] Finding check_sandbox(const Facts& facts);

// checks_events.cpp: do the events deliver?
[[nodiscard]] Finding check_clock_event(const Facts& facts);
[[nodiscard]] Finding check_pmu(const Facts& facts);
[[nodiscard]] Finding check_hybrid(const Facts& facts);
[[nodiscard]] Finding check_nmi_watchdog(const Facts& facts);
[[nodiscard]] Finding check_kernel_version(const Facts& facts);
[[nodiscard]] Finding check_sample_rate(const Facts& facts);
[[nodiscard]] Finding check_sample_cost(const Facts& facts);

// checks_host.cpp: what the host adds or takes
[[nodiscard]] Finding check_module_layout(const Facts& facts);
[[nodiscard]] Finding check_idle(const Facts& facts);
[[nodiscard]] Finding check_isolation(const Facts& facts);
[[nodiscard]] Finding check_time(const Facts& facts);
[[nodiscard]] Finding check_disk(const Facts& facts);
[[nodiscard]] Finding check_daemon(const Facts& facts);

// checks_sampled.cpp: what a short recording shows
[[nodiscard]] Finding check_kernel_unwinder(const Facts& facts);
[[nodiscard]] Finding check_frame_pointers(const Facts& facts);
[[nodiscard]] Finding check_symbols(const Facts& facts);
[[nodiscard]] Finding check_perf_maps(const Facts& facts);

}  // namespace perfvigil::analyzer::doctor
