// SPDX-License-Identifier: GPL-2.0-or-later
// /tmp/perf-PID.map: what a JIT compiler says about the code it made. Lines of "START SIZE name", hexadecimal, the name
// to the end of the line (tools/perf/Documentation/jit-interface.txt). A later line takes the addresses of earlier ones
// (code memory is used again); the last line may be half written and waits for its end. Foreign text, bounded. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "analyzer/symbols/name_pool.hpp"
#include "base/ids.hpp"

namespace perfvigil::analyzer {

struct PerfMapLimits {
    std::size_t functions = 1U << 20;
    std::size_t name_bytes = 64U << 20;
    std::size_t name_length = 4096;
    std::size_t line_length = 1U << 20;  // a longer line is passed over, whether it ends or not
};

class PerfMap {
public:
    struct Function {
        std::string_view name;  // escaped; lives as long as the map
        RuntimeAddress start{};
        std::uint64_t size = 0;
    };

    explicit PerfMap(const PerfMapLimits& limits = {}) : limits_(limits) {}
    [[nodiscard]] static PerfMap parse(std::string_view text, const PerfMapLimits& limits = {});

    // What the file holds behind what was taken so far. Takes whole lines; returns how many bytes those are: the rest
    // is to be given again with what follows it.
    std::size_t append(std::string_view text);

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
        std::string_view name;
    };
    void add(std::string_view line);
    void clear(std::uint64_t start, std::uint64_t end);

    PerfMapLimits limits_;
    std::map<std::uint64_t, Range> ranges_;  // by start, disjoint
    NamePool names_;
    std::uint64_t malformed_ = 0;
    bool cut_ = false;
    bool in_long_line_ = false;
};

}  // namespace perfvigil::analyzer
