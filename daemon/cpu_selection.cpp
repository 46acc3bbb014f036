// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/cpu_selection.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/host_facts.hpp"
#include "config/values.hpp"

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

std::optional<collector::Degraded> keep_ticks_off(std::vector<collector::EventSpec>& events, const HostCpus& host) {
    const auto by_timer = [](const collector::EventSpec& event) { return event.type == collector::kTypeSoftware; };
    if (host.nohz_full.empty() || std::ranges::none_of(events, by_timer)) return std::nullopt;
    std::string taken;
    for (const auto& event : events) {
        if (!by_timer(event)) taken += (taken.empty() ? "" : ", ") + event.name;
    }
    if (taken.empty()) return std::nullopt;
    std::erase_if(events, [&](const auto& event) { return !by_timer(event); });
    return collector::Degraded{
        "nohz_full",
        fmt::format("CPUs {} are tickless (nohz_full): {} sampled by frequency would turn the tick of all CPUs on "
                    "again, and is left out",
                    config::CpusFormat{}.print({config::CpuSelection::Kind::kList, host.nohz_full}), taken),
        "Nothing needs to be done; perfvigil record -e cycles records it all the same, for as long as it runs."};
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

void follow_cpus(const config::CpuSelection& selection, const HostCpus& host, collector::RecordingOptions& recording) {
    using Kind = config::CpuSelection::Kind;
    if (selection.kind == Kind::kList) recording.cpus = selection.list;
    if (selection.kind != Kind::kExceptIsolated) return;
    recording.left_out = host.isolated;
    recording.left_out.insert(recording.left_out.end(), host.nohz_full.begin(), host.nohz_full.end());
}

}  // namespace perfvigil::daemon
