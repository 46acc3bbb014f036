// SPDX-License-Identifier: GPL-2.0-or-later
// /tmp/perf-PID.map: what a JIT compiler says about the code it made. Lines of "START SIZE name", hexadecimal, the name
// to the end of the line (tools/perf/Documentation/jit-interface.txt). A later line takes the addresses of earlier ones
// (code memory is used again); the last line may be half written and is left out then. Foreign text, bounded. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.hpp"

namespace perfvigil::analyzer {

struct PerfMapLimits {
    std::size_t functions = 1U << 20;
    std::size_t name_bytes = 64U << 20;
    std::size_t name_length = 4096;
};

class PerfMap {
public:
    struct Function {
        std::string_view name;  // escaped; lives as long as the map
        RuntimeAddress start{};
        std::uint64_t size = 0;
    };

    [[nodiscard]] static PerfMap parse(std::string_view text, const PerfMapLimits& limits = {});

    [[nodiscard]] std::optional<Function> find(RuntimeAddress address) const;
    [[nodiscard]] std::size_t size() const { return ranges_.size(); }
    [[nodiscard]] std::size_t bytes() const;
    [[nodiscard]] std::uint64_t malformed_lines() const { return malformed_; }
    [[nodiscard]] bool cut() const { return cut_; }  // lines beyond the limits were left out

private:
    struct Range {
        std::uint64_t end = 0;
        std::uint64_t start_of_function = 0;
        std::uint64_t size_of_function = 0;
        std::uint32_t name = 0;  // into names_
        std::uint32_t name_size = 0;
    };
    void add(std::string_view line, const PerfMapLimits& limits);
    void clear(std::uint64_t start, std::uint64_t end);

    std::map<std::uint64_t, Range> ranges_;  // by start, disjoint
    std::string names_;
    std::uint64_t malformed_ = 0;
    bool cut_ = false;
};

}  // namespace perfvigil::analyzer
