// SPDX-License-Identifier: GPL-2.0-or-later
// How observations say their numbers, the same way in every rule: shares with what they are shares of, and the same
// numbers as figures.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/observations.hpp"
#include "analyzer/observations/tally.hpp"

namespace perfvigil::analyzer {

// "0.42 %", "4.2 %", "42 %".
[[nodiscard]] std::string percent(double ratio);
[[nodiscard]] std::string number_of(std::uint64_t count, std::string_view one, std::string_view many);
// "a, b and c".
[[nodiscard]] std::string listed(std::span<const std::string> items);

// What the judged event's shares are shares of: "busy CPU time", "busy cycles", "the selected busy samples".
[[nodiscard]] std::string busy_name(const Tally& tally);
// "4.2 % of busy CPU time (0.125 s)".
[[nodiscard]] std::string amount(const Tally& tally, const Sum& sum);
[[nodiscard]] std::string ratio_of(const Tally& tally, const Sum& sum);  // "4.2 %"

// "memcpy"; "[unknown] in libfoo.so" where it has no name.
[[nodiscard]] std::string function_name(const Tally& tally, std::uint32_t function);
// "a (3.1 %), b (2.0 %) and 4 more": the heaviest `most` of rows that are sorted.
[[nodiscard]] std::string functions_listed(const Tally& tally, std::span<const Pairing> rows, std::size_t most);
// Rows with the same `other` added up, heaviest first.
[[nodiscard]] std::vector<Pairing> by_other(std::span<const Pairing> rows);
// "nginx (3.1 %) and php (2.0 %)".
[[nodiscard]] std::string tasks_listed(const Tally& tally, Trait trait, std::size_t most);

// An observation about a share of the judged event: id, the support, and the figures share, share_low, share_high,
// samples and, of clocks, cpu_seconds.
[[nodiscard]] Observation about(std::string_view id, Severity severity, const Tally& tally, const Sum& sum);
// The figures share and samples of one part, named.
void add_part(Observation& observation, const Tally& tally, std::string of, const Sum& sum);

}  // namespace perfvigil::analyzer
