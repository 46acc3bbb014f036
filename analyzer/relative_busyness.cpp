// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/relative_busyness.hpp"

#include <algorithm>

namespace perfvigil::analyzer {

std::vector<double> relative_busyness(std::span<const ProfileCpu> cpus) {
    const bool counted = std::ranges::any_of(cpus, [](const auto& cpu) { return cpu.sum.cycles_recorded; });
    const auto cycles_of = [&](const ProfileCpu& cpu) {
        return static_cast<double>(counted ? cpu.sum.cycles_counted : cpu.sum.cycles_sampled);
    };
    double cycles = 0;
    double samples = 0;
    for (const auto& cpu : cpus) {
        cycles += cycles_of(cpu);
        samples += static_cast<double>(cpu.sum.samples);
    }
    std::vector<double> ratios;
    for (const auto& cpu : cpus) {
        const bool known = cycles > 0 && cpu.sum.samples > 0;
        ratios.push_back(known ? cycles_of(cpu) / cycles / (static_cast<double>(cpu.sum.samples) / samples) : 0);
    }
    return ratios;
}

}  // namespace perfvigil::analyzer
