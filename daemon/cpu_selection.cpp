// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/cpu_selection.hpp"

#include <algorithm>
#include <string_view>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/host_facts.hpp"
#include "collector/tickless.hpp"

namespace perfvigil::daemon {
namespace {

std::vector<CpuId> list_of(std::string_view text) {
    if (text.empty()) return {};
    return collector::parse_cpu_list(text).value_or(std::vector<CpuId>{});
}

bool contains(const std::vector<CpuId>& list, CpuId cpu) { return std::ranges::find(list, cpu) != list.end(); }

}  // namespace

Result<HostCpus> read_host_cpus() {
    auto online = collector::online_cpus();
    if (!online) return fail(std::move(online.error()));
    const auto isolated = read_file("/sys/devices/system/cpu/isolated", 65536);
    return HostCpus{.online = std::move(*online),
                    .isolated = list_of(isolated ? trim(*isolated) : std::string_view()),
                    .nohz_full = list_of(collector::tickless_cpus())};
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
