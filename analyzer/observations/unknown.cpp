// SPDX-License-Identifier: GPL-2.0-or-later
// unknown_*: one observation for each cause why sampled code has no name, with what that cause asks for.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

// A hundredth without a name can hide no row that matters; a twentieth can hide the hottest function.
constexpr double kSome = 0.01;
constexpr double kMuch = 0.05;
constexpr std::size_t kNamed = 3;

struct Cause {
    std::string_view what;  // "… is in "
    std::string_view meaning;
    std::string_view remedy;
};

Cause cause_of(UnknownReason reason) {
    switch (reason) {
        case UnknownReason::kNoFile:
            return {"code of files that could not be opened",
                    "The file was gone, lay in another mount namespace, or this recording came from elsewhere and the "
                    "file is not here.",
                    "Analyze on the host that recorded, or give its files: --symfs, or a build-id directory."};
        case UnknownReason::kBuildIdMismatch:
            return {"code that is not known to be what lies here under its name",
                    "What has that name here, a file or the running kernel, is not known to be what ran: its build-id "
                    "differs, or the recording has none. Its symbols might be wrong names, so none are given.",
                    "Give the files that ran: --symfs or a build-id directory; kernel: --kallsyms of that boot."};
        case UnknownReason::kNoSymbols:
            return {"stripped code",
                    "The files were stripped of their symbol table: exported functions still have names, all others "
                    "cannot be told apart.",
                    "Install their debug packages (-dbgsym, -debuginfo) of the same build, or build without "
                    "stripping .symtab."};
        case UnknownReason::kOutsideSymbols:
            return {"code that no symbol covers",
                    "The files have symbols, but not for these addresses: local functions that were stripped, or code "
                    "without a symbol.",
                    "Install their debug packages (-dbgsym, -debuginfo) of the same build."};
        case UnknownReason::kAnonymous:
            return {"code that was made at run time and has no map",
                    "A just-in-time compiler's code is in no file; without a perf map its functions have no names.",
                    "Let the runtime write one (/tmp/perf-PID.map): java -XX:+DumpPerfMapAtExit or an agent, node "
                    "--perf-basic-prof, python -X perf, DOTNET_PerfMapEnabled=1."};
        case UnknownReason::kKernelHidden:
            return {"the kernel, whose addresses were hidden from the recorder",
                    "Kernel functions cannot be told apart, and neither can idle and interrupt work.",
                    "Record with CAP_SYSLOG and sysctl kernel.kptr_restrict at 0 or 1, or give --kallsyms."};
        case UnknownReason::kUnreadable:
            return {"files that could not be read as ELF", "They are damaged, of an unknown form, or too large.",
                    "A debug package of the same build may be readable."};
        case UnknownReason::kPending:
            return {"files whose symbols were still being read", "The next window will have their names.", ""};
        case UnknownReason::kUnmapped:
            return {"code in no known mapping",
                    "The process' mappings were not recorded, or records of them were lost.",
                    "Record from before the program starts; see whether side-band records were lost."};
        case UnknownReason::kNone: break;
    }
    return {};
}

struct Unknown {
    Sum sum;
    std::map<std::string_view, Sum> dsos;
};

std::string binaries(const Tally& tally, const Unknown& unknown, Observation& made) {
    std::vector<std::pair<std::string_view, Sum>> rows(unknown.dsos.begin(), unknown.dsos.end());
    std::ranges::stable_sort(rows, std::greater{}, [](const auto& row) { return row.second.weight; });
    std::vector<std::string> names;
    for (const auto& [dso, sum] : std::span(rows).first(std::min(kNamed, rows.size()))) {
        if (dso == "[unknown]") continue;
        names.push_back(fmt::format("{} ({})", base_name(dso), ratio_of(tally, sum)));
        add_part(made, tally, std::string(dso), sum);
    }
    if (rows.size() > kNamed) names.push_back(fmt::format("{} more", rows.size() - kNamed));
    return names.empty() ? std::string() : ": " + listed(names);
}

}  // namespace

void judge_unknown(const Tally& tally, Observations& found) {
    if (!tally.judged()) return;
    std::map<UnknownReason, Unknown> by_reason;
    const auto& functions = tally.profile().functions;
    for (std::uint32_t i = 0; i < functions.size(); ++i) {
        if (functions[i].reason == UnknownReason::kNone || tally.self_of(i).samples == 0) continue;
        auto& unknown = by_reason[functions[i].reason];
        unknown.sum += tally.self_of(i);
        unknown.dsos[functions[i].dso] += tally.self_of(i);
    }
    for (const auto& [reason, unknown] : by_reason) {
        const double low = tally.share(unknown.sum).interval.low;
        const Cause cause = cause_of(reason);
        if (low < kSome || cause.what.empty()) continue;
        auto made = about(fmt::format("unknown_{}", reason_name(reason)),
                          low >= kMuch ? Severity::kNotice : Severity::kInfo, tally, unknown.sum);
        made.evidence = fmt::format("{} is in {}", amount(tally, unknown.sum), cause.what);
        made.evidence += binaries(tally, unknown, made) + ".";
        made.meaning = cause.meaning;
        made.remedy = cause.remedy;
        found.push_back(std::move(made));
    }
}

}  // namespace perfvigil::analyzer
