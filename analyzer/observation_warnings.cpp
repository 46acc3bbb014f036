// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/observation_warnings.hpp"

#include "analyzer/observations.hpp"

namespace perfvigil::analyzer {

std::vector<std::string> warnings_of(const Profile& profile) {
    auto warnings = profile.warnings;
    for (const auto& row : observe(profile)) {
        if (row.severity == Severity::kWarning) warnings.push_back(row.evidence + " " + row.meaning);
    }
    return warnings;
}

}  // namespace perfvigil::analyzer
