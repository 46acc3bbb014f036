// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/run_delays.hpp"

#include <algorithm>
#include <utility>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace perfvigil::collector {

// "cpu3 0 0 0 0 0 0 run_time run_delay timeslices", each followed by its "domain…" lines.
std::vector<RunDelay> parse_run_delays(std::string_view schedstat) {
    constexpr std::size_t kRunDelay = 8;  // the CPU's name is 0
    std::vector<RunDelay> rows;
    while (!schedstat.empty()) {
        const std::string_view line = next_piece(schedstat, '\n');
        if (!line.starts_with("cpu")) continue;
        const auto fields = split(line, ' ');
        if (fields.size() <= kRunDelay) continue;
        const auto cpu = parse_number<std::uint32_t>(fields[0].substr(3));
        const auto delay = parse_number<std::int64_t>(fields[kRunDelay]);
        if (cpu && delay) rows.push_back({CpuId{*cpu}, Nanoseconds(*delay)});
    }
    return rows;
}

std::vector<RunDelay> RunDelays::since_last() {
    if (path_.empty()) return {};
    const auto text = read_file(path_);
    if (!text) return {};
    auto rows = parse_run_delays(*text);
    std::erase_if(rows, [this](RunDelay& row) {
        const auto [known, first] = last_.try_emplace(row.cpu, row.waited);
        const Nanoseconds before = std::exchange(known->second, row.waited);
        row.waited = std::max(Nanoseconds{}, row.waited - before);
        return first;
    });
    return rows;
}

}  // namespace perfvigil::collector
