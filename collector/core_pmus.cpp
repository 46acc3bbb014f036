// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/core_pmus.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::collector {
namespace {

constexpr std::size_t kMaxLine = 65536;

// A PMU of cores has a file "cpus", one of anything else at most a "cpumask".
bool read_pmu(const std::filesystem::path& folder, CorePmu& pmu) {
    const auto cpus = read_file((folder / "cpus").string(), kMaxLine);
    const auto type = read_file((folder / "type").string(), kMaxLine);
    if (!cpus || !type) return false;
    auto list = parse_cpu_list(trim(*cpus));
    const auto number = parse_number<std::uint64_t>(trim(*type));
    if (!list || list->empty() || !number) return false;
    pmu = {folder.filename().string(), *number, std::move(*list)};
    return true;
}

}  // namespace

std::vector<CorePmu> read_core_pmus(const std::string& root) {
    std::vector<CorePmu> pmus;
    std::error_code error;
    std::filesystem::directory_iterator at(root + "/sys/bus/event_source/devices", error);
    for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
        if (CorePmu pmu; read_pmu(at->path(), pmu)) pmus.push_back(std::move(pmu));
    }
    if (pmus.size() < 2) return {};
    std::ranges::sort(pmus, {}, &CorePmu::type);
    return pmus;
}

}  // namespace perfvigil::collector
