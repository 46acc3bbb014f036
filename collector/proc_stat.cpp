// SPDX-License-Identifier: GPL-2.0-or-later
// The parts of host_facts.hpp that are read again and again: /proc/stat and CPU lists.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/host_facts.hpp"

namespace perfvigil::collector {
namespace {

// CPU numbers beyond this are a damaged file, not a machine (the kernel's limit is 8192).
constexpr std::uint32_t kMaxCpu = 65535;

// "cpu3 user nice system idle iowait irq softirq steal guest guest_nice"; kernels before 2.6.11 lack steal.
std::optional<CpuTimes> parse_cpu_line(std::string_view line, std::uint64_t ns_per_tick) {
    std::string_view rest = line;
    const auto cpu = parse_number<std::uint32_t>(next_piece(rest, ' ').substr(3));
    if (!cpu || *cpu > kMaxCpu) return std::nullopt;
    std::array<std::uint64_t, 8> ticks{};
    std::size_t count = 0;
    while (!rest.empty() && count < ticks.size()) {
        const auto value = parse_number<std::uint64_t>(next_piece(rest, ' '));
        if (!value) return std::nullopt;
        ticks[count++] = *value * ns_per_tick;
    }
    if (count < 4) return std::nullopt;
    return CpuTimes{.cpu = CpuId{*cpu},
                    .user = ticks[0] + ticks[1],
                    .system = ticks[2],
                    .idle = ticks[3],
                    .iowait = ticks[4],
                    .irq = ticks[5],
                    .softirq = ticks[6],
                    .steal = ticks[7]};
}

}  // namespace

Result<std::vector<CpuTimes>> parse_proc_stat(std::string_view text, long ticks_per_second) {
    if (ticks_per_second <= 0) return fail(ErrorCode::kInvalid, "the clock tick must be positive");
    const auto ns_per_tick = 1'000'000'000U / static_cast<std::uint64_t>(ticks_per_second);
    std::vector<CpuTimes> rows;
    while (!text.empty()) {
        const std::string_view line = next_piece(text, '\n');
        if (!line.starts_with("cpu") || line.starts_with("cpu ")) continue;
        const auto row = parse_cpu_line(line, ns_per_tick);
        if (!row) return fail(ErrorCode::kInvalid, "/proc/stat: cannot read the line '" + escape(line) + "'");
        rows.push_back(*row);
    }
    if (rows.empty()) return fail(ErrorCode::kInvalid, "/proc/stat: no line of a CPU");
    return rows;
}

std::vector<CpuTimes> read_cpu_times() {
    const auto text = read_file("/proc/stat");
    if (!text) return {};
    auto rows = parse_proc_stat(*text, ::sysconf(_SC_CLK_TCK));
    return rows ? std::move(*rows) : std::vector<CpuTimes>();
}

Result<std::vector<CpuId>> parse_cpu_list(std::string_view text) {
    std::vector<CpuId> cpus;
    text = trim(text);
    while (!text.empty()) {
        std::string_view piece = trim(next_piece(text, ','));
        const std::string_view whole = piece;
        const auto first = parse_number<std::uint32_t>(next_piece(piece, '-'));
        const auto last = piece.empty() ? first : parse_number<std::uint32_t>(piece);
        if (!first || !last || *first > *last || *last > kMaxCpu || whole.ends_with('-')) {
            return fail(ErrorCode::kInvalid, "'" + escape(whole) + "' is no CPU or range of CPUs");
        }
        for (std::uint32_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(CpuId{cpu});
    }
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    return cpus;
}

Result<std::vector<CpuId>> online_cpus() {
    constexpr auto kPath = "/sys/devices/system/cpu/online";
    const auto text = read_file(kPath);
    if (!text) return fail(text.error());
    auto cpus = parse_cpu_list(*text);
    if (!cpus) return fail(std::move(cpus.error()).at(kPath));
    return cpus;
}

}  // namespace perfvigil::collector
