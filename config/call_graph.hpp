// SPDX-License-Identifier: GPL-2.0-or-later
// How call chains are recorded, written as perf writes it: fp, dwarf, dwarf,BYTES, none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collector/recording_options.hpp"
#include "config/values.hpp"

namespace perfvigil::config {

struct CallGraph {
    collector::CallChains chains = collector::CallChains::kFramePointers;
    std::uint32_t dump_bytes = collector::RecordingOptions{}.stack_dump_bytes;

    friend bool operator==(const CallGraph&, const CallGraph&) = default;
};

struct CallGraphFormat {
    [[nodiscard]] Parsed<CallGraph> parse(std::string_view text) const;
};

// What such a recording may cost, for people to know before it starts: "up to 99 samples/s of 8.4 KiB on each of 2
// CPUs, 1.6 MiB/s; rings of 2.0 MiB hold 2.4 s". Empty where it costs nothing worth a word.
[[nodiscard]] std::string predicted_cost(const collector::RecordingOptions& options, std::size_t cpus);

}  // namespace perfvigil::config
