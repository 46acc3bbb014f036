// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include "analyzer/report/observations.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {

void write_observations(TextPage& page, const std::vector<Observation>& observations) {
    if (!observations.empty()) page.line("\nObservations");
    for (const auto& row : observations) {
        page.sentence(fmt::format("{}: {}: {}", severity_name(row.severity), row.id, escape(row.evidence)), 2);
        page.sentence(escape(row.meaning), 4, 0);
        if (!row.remedy.empty()) page.sentence("Do: " + escape(row.remedy), 4, 0);
    }
}

}  // namespace perfvigil::analyzer
