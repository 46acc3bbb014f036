// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/call_graph.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "collector/recording_rate.hpp"

namespace perfvigil::config {

using collector::CallChains;

Parsed<CallGraph> CallGraphFormat::parse(std::string_view text) const {
    CallGraph graph;
    if (text == "fp") return graph;
    if (text == "none") return CallGraph{.chains = CallChains::kNone};
    graph.chains = CallChains::kStackDumps;
    if (text == "dwarf") return graph;
    constexpr std::string_view kDwarf = "dwarf,";
    if (!text.starts_with(kDwarf)) {
        return refuse("'" + escape(text) + "' is no way to record call chains",
                      "write fp (frame pointers), dwarf, dwarf,BYTES or none");
    }
    const auto bytes = parse_number<std::uint32_t>(text.substr(kDwarf.size()));
    if (!bytes) {
        return refuse("'" + escape(text.substr(kDwarf.size())) + "' is no number of bytes", "write dwarf,8192");
    }
    if (auto fits = collector::check_stack_dump(*bytes); !fits) {
        return refuse(std::move(fits.error().message), "write dwarf,8192");
    }
    graph.dump_bytes = *bytes;
    return graph;
}

std::string predicted_cost(const collector::RecordingOptions& options, std::size_t cpus) {
    if (options.call_chains != CallChains::kStackDumps) return {};
    const auto rate = collector::most_per_cpu(options);
    const auto ring = options.tuning.sample_ring_bytes;
    return fmt::format(
        "stack dumps: up to {} samples/s of {} on each of {} CPUs, {}/s in all; rings of {} hold {:.1f} s",
        rate.samples_per_second, human_bytes(rate.sample_bytes), cpus, human_bytes(rate.bytes_per_second() * cpus),
        human_bytes(ring), static_cast<double>(ring) / static_cast<double>(rate.bytes_per_second()));
}

}  // namespace perfvigil::config
