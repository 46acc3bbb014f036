// SPDX-License-Identifier: GPL-2.0-or-later
// A rule as it is written: NAME when SIGNAL [OF] > LIMIT [for DURATION]
//
//   saturated when cpu_busy > 95% for 1min
//   parser when function json::parse(char const*) > 20% for 30s
//   web when unit nginx.service > 150% for 1min
//   disk when pressure io full > 30%
#pragma once

#include <string>
#include <string_view>

#include "config/trigger_rule.hpp"
#include "config/values.hpp"

namespace perfvigil::config {

struct TriggerRuleFormat {
    [[nodiscard]] Parsed<TriggerRule> parse(std::string_view text) const;
    [[nodiscard]] std::string print(const TriggerRule& rule) const;
};

// A limit, or a value, of that signal: "95%", or 12.5 for a load.
[[nodiscard]] std::string print_level(TriggerRule::Signal signal, double level);

}  // namespace perfvigil::config
