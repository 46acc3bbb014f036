// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/observed.hpp"

#include <cmath>

namespace perfvigil::test {

using namespace analyzer;

ObservedProfile::ObservedProfile(WeightUnit unit) : weight_of_one_(unit == WeightUnit::kNanoseconds ? kTick : 1000) {
    profile.id = "test";
    const bool clock = unit == WeightUnit::kNanoseconds;
    profile.events.push_back(
        {.name = clock ? "cpu-clock" : "cycles", .unit = unit, .frequency_mode = true, .rate = 99});
}

ObservedProfile& ObservedProfile::stack(std::vector<TestFrame> frames, std::uint64_t samples, std::string comm,
                                        std::uint8_t flags) {
    add(std::move(frames), samples, std::move(comm), flags, false);
    return *this;
}

ObservedProfile& ObservedProfile::kernel(std::initializer_list<std::string_view> names, std::uint64_t samples,
                                         std::string comm) {
    std::vector<TestFrame> frames;
    for (const auto name : names) frames.push_back(in_kernel(std::string(name)));
    add(std::move(frames), samples, std::move(comm), kStackKernelLeaf, false);
    return *this;
}

ObservedProfile& ObservedProfile::idle(std::initializer_list<std::string_view> names, std::uint64_t samples) {
    std::vector<TestFrame> frames;
    for (const auto name : names) frames.push_back(in_kernel(std::string(name)));
    add(std::move(frames), samples, "swapper", kStackKernelLeaf | kStackIdleLoop, true);
    return *this;
}

ObservedProfile& ObservedProfile::vulnerability(std::string name, std::string state) {
    profile.host.vulnerabilities.push_back({std::move(name), std::move(state)});
    return *this;
}

ObservedProfile& ObservedProfile::config(std::string option, std::string value) {
    profile.host.kernel_config.push_back({std::move(option), std::move(value)});
    return *this;
}

ObservedProfile& ObservedProfile::setting(std::string name, std::string value) {
    profile.host.settings.push_back({std::move(name), std::move(value)});
    return *this;
}

ProfileCpu& ObservedProfile::cpu(std::uint64_t busy) {
    auto& cpu = profile.cpus.emplace_back();
    cpu.sum.cpu = CpuId{static_cast<std::uint32_t>(profile.cpus.size() - 1)};
    cpu.sum.clock_recorded = true;
    cpu.sum.enabled = Nanoseconds(1000 * kTick);
    cpu.sum.ticks_due = 1000;
    cpu.sum.samples = 1000;
    cpu.sum.idle_samples = 1000 - busy;
    cpu.sum.mode_time[index_of(Mode::kUser)] = Nanoseconds(busy * kTick);
    cpu.sum.mode_time[index_of(Mode::kIdle)] = Nanoseconds((1000 - busy) * kTick);
    cpu.busy = busy_of(cpu.sum);
    cpu.ledger = clock_ledger(cpu.sum);
    return cpu;
}

Observation ObservedProfile::find(std::string_view id) const {
    for (auto& observation : all()) {
        if (observation.id == id) return observation;
    }
    return {};
}

void ObservedProfile::add(std::vector<TestFrame> frames, std::uint64_t samples, std::string comm, std::uint8_t flags,
                          bool idle) {
    ProfileStack stack{.functions = {}, .flags = flags};
    for (const auto& frame : frames) stack.functions.push_back(function(frame));
    const auto weight = samples * weight_of_one_;
    profile.samples.push_back({.event = 0,
                               .stack = static_cast<std::uint32_t>(profile.stacks.size()),
                               .context = static_cast<std::uint32_t>(profile.contexts.size()),
                               .idle = idle,
                               .samples = samples,
                               .weight = weight});
    profile.stacks.push_back(std::move(stack));
    profile.contexts.push_back({.comm = std::move(comm), .unit = {}, .container = {}});
    auto& event = profile.events[0];
    event.samples += samples;
    event.weight += weight;
    if (!idle) return;
    event.idle_samples += samples;
    event.idle_weight += weight;
}

std::uint32_t ObservedProfile::function(const TestFrame& frame) {
    const ProfileFunction wanted{frame.name, frame.dso, frame.kernel, frame.reason};
    for (std::uint32_t i = 0; i < profile.functions.size(); ++i) {
        if (profile.functions[i] == wanted) return i;
    }
    profile.functions.push_back(wanted);
    return static_cast<std::uint32_t>(profile.functions.size() - 1);
}

double figure(const Observation& observation, std::string_view name, std::string_view of) {
    for (const auto& figure : observation.figures) {
        if (figure.name == name && figure.of == of) return figure.value;
    }
    return std::nan("");
}

}  // namespace perfvigil::test
