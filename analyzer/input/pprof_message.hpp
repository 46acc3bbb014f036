// SPDX-License-Identifier: GPL-2.0-or-later
// The tables of a pprof profile as it stores them, names still numbers into its strings.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

struct PprofValueType {
    std::uint64_t type = 0;
    std::uint64_t unit = 0;
};

struct PprofLabel {
    std::uint64_t key = 0;
    std::uint64_t text = 0;
    std::int64_t number = 0;
};

struct PprofSample {
    std::vector<std::uint64_t> locations;  // ids, innermost first
    std::vector<std::int64_t> values;
    std::vector<PprofLabel> labels;
};

struct PprofLocation {
    std::uint64_t mapping = 0;
    std::vector<std::uint64_t> functions;  // ids, the innermost inlined call first
};

struct PprofMapping {
    std::uint64_t file = 0;
    std::uint64_t build_id = 0;
};

struct PprofMessage {
    std::vector<std::string_view> strings;
    std::vector<PprofValueType> types;
    std::vector<std::string_view> samples;  // still packed: there may be many
    boost::unordered_flat_map<std::uint64_t, PprofLocation> locations;
    boost::unordered_flat_map<std::uint64_t, PprofMapping> mappings;
    boost::unordered_flat_map<std::uint64_t, std::uint64_t> function_names;  // id → string
    std::int64_t time_ns = 0;
    std::int64_t duration_ns = 0;
    PprofValueType period_type;
    std::int64_t period = 0;

    [[nodiscard]] std::string_view text(std::uint64_t number) const {
        return number < strings.size() ? strings[number] : std::string_view{};
    }
};

// Views into `bytes`. The error names what is damaged.
[[nodiscard]] Result<PprofMessage> parse_pprof(Bytes bytes);
// Throws std::exception on damage; `sample` is overwritten.
void parse_pprof_sample(std::string_view packed, PprofSample& sample);

}  // namespace perfvigil::analyzer
