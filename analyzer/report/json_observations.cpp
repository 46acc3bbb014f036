// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/report/json.hpp"
#include "analyzer/report/observations.hpp"

namespace perfvigil::analyzer {

namespace json = boost::json;

json::array observations_json(const std::vector<Observation>& observations) {
    json::array rows;
    for (const auto& observation : observations) {
        json::array figures;
        for (const auto& figure : observation.figures) {
            json::object row{{"name", figure.name}, {"value", figure.value}};
            if (!figure.of.empty()) row["of"] = json_text(figure.of);
            figures.push_back(std::move(row));
        }
        rows.push_back({{"id", observation.id},
                        {"severity", severity_name(observation.severity)},
                        {"at_least", observation.at_least},
                        {"figures", std::move(figures)},
                        {"evidence", json_text(observation.evidence)},
                        {"meaning", json_text(observation.meaning)},
                        {"remedy", json_text(observation.remedy)}});
    }
    return rows;
}

}  // namespace perfvigil::analyzer
