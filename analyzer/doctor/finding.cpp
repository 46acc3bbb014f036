// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/doctor/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "analyzer/doctor/checks.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer::doctor {

std::string_view verdict_name(Verdict verdict) {
    switch (verdict) {
        case Verdict::kOk: return "ok";
        case Verdict::kUnknown: return "unknown";
        case Verdict::kDegraded: return "degraded";
        case Verdict::kBroken: return "broken";
    }
    return "";
}

std::vector<Finding> examine(const Facts& facts) {
    return {check_paranoid(facts),       check_capabilities(facts),  check_sandbox(facts),
            check_kernel_version(facts), check_clock_event(facts),   check_pmu(facts),
            check_hybrid(facts),         check_nmi_watchdog(facts),  check_sample_rate(facts),
            check_sample_cost(facts),    check_locked_memory(facts), check_open_files(facts),
            check_kernel_symbols(facts), check_module_layout(facts), check_kernel_unwinder(facts),
            check_frame_pointers(facts), check_symbols(facts),       check_perf_maps(facts),
            check_isolation(facts),      check_idle(facts),          check_time(facts),
            check_disk(facts),           check_daemon(facts)};
}

Verdict worst(const std::vector<Finding>& findings) {
    Verdict verdict = Verdict::kOk;
    for (const auto& one : findings) verdict = std::max(verdict, one.verdict);
    return verdict;
}

std::string findings_text(const std::vector<Finding>& findings) {
    std::string text;
    for (const auto& one : findings) {
        text += fmt::format("{:<9} {:<15} {}\n", verdict_name(one.verdict), one.check, escape(one.evidence));
        if (!one.remedy.empty()) text += fmt::format("{:<25} → {}\n", "", escape(one.remedy));
    }
    return text;
}

std::string findings_json(const std::vector<Finding>& findings) {
    boost::json::array checks;
    for (const auto& one : findings) {
        boost::json::object row{{"check", one.check},
                                {"verdict", verdict_name(one.verdict)},
                                {"evidence", escape(one.evidence)},
                                {"remedy", escape(one.remedy)}};
        if (!one.reason.empty()) row["reason"] = one.reason;
        checks.push_back(std::move(row));
    }
    return boost::json::serialize(
        boost::json::object{{"format", 1}, {"verdict", verdict_name(worst(findings))}, {"checks", std::move(checks)}});
}

}  // namespace perfvigil::analyzer::doctor
