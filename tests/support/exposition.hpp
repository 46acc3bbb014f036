// SPDX-License-Identifier: GPL-2.0-or-later
// Reads Prometheus' text format as strictly as it is specified, so a test fails on what a server would refuse.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace perfvigil::test {

struct ExpositionSeries {
    std::string name;
    std::map<std::string, std::string> labels;  // unescaped
    double value = 0;
    std::optional<std::int64_t> timestamp_ms;
};

struct Exposition {
    std::vector<ExpositionSeries> series;
    std::map<std::string, std::string> types;  // family → "counter", "gauge"
    std::map<std::string, std::string> helps;

    // The one series of that name with exactly these labels; nullopt where there is none.
    [[nodiscard]] std::optional<double> value(std::string_view name,
                                              const std::map<std::string, std::string>& labels = {}) const;
    [[nodiscard]] std::vector<const ExpositionSeries*> family(std::string_view name) const;
    // Σ over the family's series whose labels include these.
    [[nodiscard]] double sum(std::string_view name, const std::map<std::string, std::string>& labels = {}) const;
};

// Fails on a malformed line, a series without TYPE and HELP before it, a family in two places, a series told twice.
[[nodiscard]] Result<Exposition> parse_exposition(std::string_view text);

}  // namespace perfvigil::test
