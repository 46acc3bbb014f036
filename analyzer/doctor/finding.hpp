// SPDX-License-Identifier: GPL-2.0-or-later
// What one check of the doctor says, and what all of them say together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/doctor/facts.hpp"

namespace perfvigil::analyzer::doctor {

enum class Verdict : std::uint8_t {
    kOk,
    kUnknown,   // it could not be found out; counts as ok
    kDegraded,  // profiles are made, with less in them
    kBroken,    // nothing can be recorded
};
[[nodiscard]] std::string_view verdict_name(Verdict verdict);

struct Finding {
    std::string check;  // stable: "pmu", "paranoid" …
    Verdict verdict = Verdict::kOk;
    std::string evidence{};  // what was seen
    std::string remedy{};    // what to do; empty where nothing is needed, or nothing can be done
    // The reason under which the daemon publishes it; empty where it is not degraded.
    std::string reason{};
};

// Every check once, in a fixed order. A pure function.
[[nodiscard]] std::vector<Finding> examine(const Facts& facts);

[[nodiscard]] Verdict worst(const std::vector<Finding>& findings);

// One line each: verdict, check, evidence; below it the remedy.
[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings);
[[nodiscard]] std::string findings_json(const std::vector<Finding>& findings);

}  // namespace perfvigil::analyzer::doctor
