// SPDX-License-Identifier: GPL-2.0-or-later
// What a person who knows the traps would say on reading a profile: each observation is one rule's finding, with the
// numbers it rests on, what they mean and what to do. A pure function of a Profile; docs/observations.md lists the
// rules. A rule never names a cause that the profile does not show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

enum class Severity : std::uint8_t {
    kInfo,     // good to know while reading
    kNotice,   // bears on conclusions, or costs enough to look at
    kWarning,  // the profile misleads, or something costs so much that it hides the rest
};
[[nodiscard]] std::string_view severity_name(Severity severity);  // "info", "notice", "warning"

// One number of the evidence. Ratios are 0..1, times seconds.
struct Figure {
    std::string name;  // "share", "samples", "cpu_seconds" …; stable within a rule
    std::string of;    // the function, DSO, CPU or event it belongs to; empty: the observation as a whole
    double value = 0;

    friend bool operator==(const Figure&, const Figure&) = default;
};

struct Observation {
    std::string id;  // stable: "lost_samples"
    Severity severity = Severity::kInfo;
    // The smallest share (0..1) that the data support with 95 % confidence; what observations of one severity are
    // ordered by.
    double at_least = 0;
    std::vector<Figure> figures;
    std::string evidence;  // the figures as a sentence
    std::string meaning;
    std::string remedy;  // empty where nothing is to be done

    friend bool operator==(const Observation&, const Observation&) = default;
};

// Most severe first, then by what is best supported. Names in the texts are as the profile has them: not escaped.
[[nodiscard]] std::vector<Observation> observe(const Profile& profile);

}  // namespace perfvigil::analyzer
