// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/cpu_selection.hpp"

#include <algorithm>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::daemon {
namespace {

// A list that the kernel may not have, or may print as "(null)".
std::vector<CpuId> optional_list(const char* path) {
    const auto text = read_file(path, 65536);
    if (!text) return {};
    const auto trimmed = trim(*text);
    if (trimmed.empty()) return {};
    return collector::parse_cpu_list(trimmed).value_or(std::vector<CpuId>{});
}

bool contains(const std::vector<CpuId>& list, CpuId cpu) { return std::ranges::find(list, cpu) != list.end(); }

}  // namespace

Result<HostCpus> read_host_cpus() {
    auto online = collector::online_cpus();
    if (!online) return fail(std::move(online.error()));
    return HostCpus{.online = std::move(*online),
                    .isolated = optional_list("/sys/devices/system/cpu/isolated"),
                    .nohz_full = optional_list("/sys/devices/system/cpu/nohz_full")};
}

std::vector<collector::EventSpec> events_that_keep_ticks_off(std::vector<collector::EventSpec> events,
                                                             const HostCpus& host) {
    const auto by_timer = [](const collector::EventSpec& event) { return event.type == collector::kTypeSoftware; };
    if (host.nohz_full.empty() || std::ranges::none_of(events, by_timer)) return events;
    std::erase_if(events, [&](const auto& event) { return !by_timer(event); });
    return events;
}

Result<std::vector<CpuId>> select_cpus(const config::CpuSelection& selection, const HostCpus& host) {
    using Kind = config::CpuSelection::Kind;
    std::vector<CpuId> chosen;
    for (const auto cpu : host.online) {
        const bool isolated = contains(host.isolated, cpu) || contains(host.nohz_full, cpu);
        if (selection.kind == Kind::kAll || (selection.kind == Kind::kExceptIsolated && !isolated) ||
            (selection.kind == Kind::kList && contains(selection.list, cpu))) {
            chosen.push_back(cpu);
        }
    }
    if (chosen.empty()) {
        return fail(ErrorCode::kInvalid, "recording.cpus leaves no online CPU; write all, or numbers that are online");
    }
    std::ranges::sort(chosen);
    return chosen;
}

}  // namespace perfvigil::daemon
