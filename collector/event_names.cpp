// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/event_names.hpp"

#include <array>

#include <fmt/core.h>

namespace perfvigil::collector {
namespace {

constexpr std::uint32_t kTypeCache = 3;
constexpr std::uint32_t kTypeRaw = 4;
constexpr std::uint32_t kTypeBreakpoint = 5;

constexpr std::array<std::string_view, 10> kHardware = {
    "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
    "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
constexpr std::array<std::string_view, 12> kSoftware = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};
constexpr std::array<std::string_view, 7> kCache = {"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"};
constexpr std::array<std::string_view, 3> kCacheOperation = {"load", "store", "prefetch"};

// On machines with several core PMUs the upper half of config names the PMU (PERF_PMU_TYPE_SHIFT).
std::uint64_t without_pmu(std::uint64_t config) { return config & 0xffffffffU; }

std::string cache_event_name(std::uint64_t config) {
    const std::uint64_t cache = config & 0xff;
    const std::uint64_t operation = config >> 8 & 0xff;
    const std::uint64_t result = config >> 16 & 0xff;
    if (cache >= kCache.size() || operation >= kCacheOperation.size() || result > 1) return {};
    return fmt::format("{}-{}{}", kCache[cache], kCacheOperation[operation], result == 0 ? "s" : "-misses");
}

std::string generic_name(const EventAttr& attr) {
    const std::uint64_t config = without_pmu(attr.config);
    if (attr.type == kTypeHardware && config < kHardware.size()) return std::string(kHardware[config]);
    if (attr.type == kTypeSoftware && config < kSoftware.size()) return std::string(kSoftware[config]);
    if (attr.type == kTypeCache) return cache_event_name(config);
    return {};
}

}  // namespace

std::string default_event_name(const EventAttr& attr) {
    if (auto name = generic_name(attr); !name.empty()) return name;
    switch (attr.type) {
        case kTypeRaw: return fmt::format("r{:x}", attr.config);
        case kTypeTracepoint: return fmt::format("tracepoint:{}", attr.config);
        case kTypeBreakpoint: return fmt::format("mem:{:#x}", attr.config1);
        default: return fmt::format("type {}, config {:#x}", attr.type, attr.config);
    }
}

bool is_generic_event(const EventAttr& attr) { return !generic_name(attr).empty(); }

}  // namespace perfvigil::collector
