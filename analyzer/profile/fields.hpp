// SPDX-License-Identifier: GPL-2.0-or-later
// The fields of each message of docs/profile.proto, once: the writer (encode.cpp) and the reader (decode.cpp)
// both walk these lists. Archive::Ref<T> is const T& or T&.
#pragma once

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<ProfileFact> fact) {
    a.text(1, fact.name);
    a.text(2, fact.value);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<ProfileHost> host) {
    a.text(1, host.hostname);
    a.text(2, host.os_release);
    a.text(3, host.architecture);
    a.text(4, host.cpu_description);
    a.text(5, host.recorder);
    a.number(6, host.cpus_online);
    a.text(7, host.kernel_command_line);
    a.messages(8, host.vulnerabilities);
    a.messages(9, host.kernel_config);
    a.messages(10, host.settings);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<ProfileEvent> event) {
    a.text(1, event.name);
    a.choice(2, event.unit, WeightUnit::kEvents);
    a.flag(3, event.frequency_mode);
    a.number(4, event.rate);
    a.duration(5, event.nominal_period);
    a.number(6, event.samples);
    a.number(7, event.weight);
    a.number(8, event.idle_samples);
    a.number(9, event.idle_weight);
    a.number(10, event.lost);
    a.flag(11, event.lost_is_shared);
    a.number(12, event.whole_samples);
    a.number(13, event.whole_weight);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<ProfileDso> dso) {
    a.text(1, dso.name);
    a.text(2, dso.build_id);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<ProfileProgram> program) {
    a.text(1, program.unit);
    a.text(2, program.container);
    a.text(3, program.slice);
    a.text(4, program.cgroup);
    a.text(5, program.path);
    a.text(6, program.build_id);
    a.text(7, program.package);
    a.text(8, program.package_version);
    a.number(9, program.samples);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<ProfileContext> context) {
    a.text(1, context.comm);
    a.text(2, context.unit);
    a.text(3, context.container);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<collector::CpuTimes> times) {
    a.number(1, times.cpu.value);
    a.number(2, times.user);
    a.number(3, times.system);
    a.number(4, times.idle);
    a.number(5, times.iowait);
    a.number(6, times.irq);
    a.number(7, times.softirq);
    a.number(8, times.steal);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<ClockLedger> ledger) {
    a.signed_number(1, ledger.total);
    a.signed_number(2, ledger.busy);
    a.signed_number(3, ledger.idle);
    a.signed_number(4, ledger.irq_in_idle);
    a.signed_number(5, ledger.lost);
    a.signed_number(6, ledger.throttled);
    a.signed_number(7, ledger.idle_unsampled);
    a.signed_number(8, ledger.stolen);
    a.signed_number(9, ledger.unexplained);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<Busy> busy) {
    a.flag(1, busy.known);
    a.real(2, busy.ratio);
    a.real(3, busy.interval.low);
    a.real(4, busy.interval.high);
    a.real(5, busy.coverage);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<ProfileCpu> cpu) {
    auto& sum = cpu.sum;
    a.number(1, sum.cpu.value);
    a.flag(2, sum.clock_recorded);
    a.flag(3, sum.time_estimated);
    a.duration(4, sum.enabled);
    a.real(5, sum.ticks_due);
    a.number(6, sum.samples);
    a.number(7, sum.idle_samples);
    a.durations(8, sum.mode_time);
    a.duration(9, sum.irq_in_idle);
    a.number(10, sum.lost);
    a.duration(11, sum.lost_time);
    a.duration(12, sum.throttled);
    a.flag(13, sum.cycles_recorded);
    a.number(14, sum.cycles_counted);
    a.flag(15, sum.cycles_scaled);
    a.number(16, sum.cycles_sampled);
    a.number(17, sum.cycles_samples);
    a.number(18, sum.cycles_lost);
    a.flag(19, sum.times_known);
    a.message(20, sum.times);
    a.message(21, cpu.ledger);
    a.message(22, cpu.busy);
    a.number(23, cpu.run_delay_ns);
    a.number(24, sum.cycles_idle);
    a.duration(25, sum.cycles_throttled);
    a.duration(26, sum.cycles_absent);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<EventTotals> totals) {
    a.number(1, totals.samples);
    a.number(2, totals.weight);
    a.number(3, totals.lost);
    a.flag(4, totals.lost_is_shared);
    a.number(5, totals.throttles);
    a.duration(6, totals.nominal_period);
    a.duration(7, totals.throttled);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<ProfileMoment> moment) {
    using Top = ProfileMoment::TopFunction;
    a.wall_time(1, moment.wall_end);
    a.duration(2, moment.length);
    a.messages(3, moment.totals);
    a.messages(4, moment.cpus);
    a.first_column(5, moment.top, &Top::event);
    a.column(6, moment.top, &Top::function);
    a.column(7, moment.top, &Top::samples);
    a.column(8, moment.top, &Top::weight);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<BrokenStacks> broken) {
    a.text(1, broken.dso);
    a.number(2, broken.samples);
    a.number(3, broken.broken);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<ProfileThrottledUnit> unit) {
    a.text(1, unit.unit);
    a.number(2, unit.periods);
    a.number(3, unit.throttled_periods);
    a.duration(4, unit.throttled);
}

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<collector::Degraded> degraded) {
    a.text(1, degraded.reason);
    a.text(2, degraded.detail);
    a.text(3, degraded.remedy);
}

// Everything but functions and stacks, which are flattened first.
template <class Archive>
void fields(Archive& a, typename Archive::template Ref<Profile> profile) {
    using Sample = ProfileSample;
    a.text(2, profile.id);
    a.wall_time(3, profile.start);
    a.wall_time(4, profile.end);
    a.duration(5, profile.duration);
    a.message(6, profile.host);
    a.messages(7, profile.events);
    a.messages(15, profile.contexts);
    a.first_column(16, profile.samples, &Sample::event);
    a.column(17, profile.samples, &Sample::stack);
    a.column(18, profile.samples, &Sample::context);
    a.column(19, profile.samples, &Sample::idle);
    a.column(20, profile.samples, &Sample::samples);
    a.column(21, profile.samples, &Sample::weight);
    a.messages(22, profile.cpus);
    a.messages(23, profile.moments);
    a.messages(24, profile.broken);
    a.messages(25, profile.degraded);
    a.texts(26, profile.warnings);
    a.texts(27, profile.notes);
    a.flag(28, profile.partial);
    a.flag(29, profile.maps_suspect);
    a.flag(30, profile.rounded);
    a.text(31, profile.filter);
    a.messages(32, profile.dsos);
    a.messages(35, profile.programs);
    a.messages(36, profile.throttled_units);
}

// Functions and stacks as the columns of docs/profile.proto.
struct ProfileColumns {
    std::vector<std::string> function_names;
    std::vector<std::string> dso_names;
    std::vector<std::uint32_t> function_dsos;
    std::vector<std::uint32_t> function_kinds;
    std::vector<std::uint32_t> stack_depths;
    std::vector<std::uint32_t> stack_flags;
    std::vector<std::uint32_t> stack_functions;
    std::vector<std::uint32_t> variant_functions;
    std::vector<std::string> variant_names;
};

template <class Archive>
void fields(Archive& a, typename Archive::template Ref<ProfileColumns> columns) {
    a.texts(8, columns.function_names);
    a.texts(9, columns.dso_names);
    a.numbers(10, columns.function_dsos);
    a.numbers(11, columns.function_kinds);
    a.numbers(12, columns.stack_depths);
    a.numbers(13, columns.stack_flags);
    a.numbers(14, columns.stack_functions);
    a.numbers(33, columns.variant_functions);
    a.texts(34, columns.variant_names);
}

}  // namespace perfvigil::analyzer
