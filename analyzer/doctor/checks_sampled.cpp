// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyzer/doctor/checks.hpp"

namespace perfvigil::analyzer::doctor {
namespace {

constexpr std::uint64_t kEnough = 30;  // samples, to say anything of a host
// What a program must have to count.
constexpr std::uint64_t kEnoughOfOne = 5;
constexpr double kShareOfOne = 0.01;
constexpr double kBad = 0.2;
constexpr std::size_t kNamed = 5;

std::string value_of(const Facts& facts, std::string_view option) {
    for (const auto& [name, value] : facts.kernel_config) {
        if (name == option) return value;
    }
    return {};
}

Finding not_sampled(const Facts& facts, std::string check) {
    std::string why = "too few samples to tell: the host is idle";
    if (!facts.sampled) why = facts.not_sampled.empty() ? "not sampled" : facts.not_sampled;
    return {.check = std::move(check), .verdict = Verdict::kUnknown, .evidence = std::move(why)};
}

bool enough(const Facts& facts) { return facts.sampled && facts.sampled->samples >= kEnough; }

bool counts(const SampledFacts& sampled, std::uint64_t samples) {
    return samples >= kEnoughOfOne &&
           static_cast<double>(samples) >= kShareOfOne * static_cast<double>(sampled.samples);
}

struct Worst {
    std::string text;  // "libc.so.6 (12 of 30)", worst first
    std::size_t binaries = 0;
    std::uint64_t bad = 0;
};

Worst worst_of(const SampledFacts& sampled, std::vector<SampledBinary> rows) {
    std::erase_if(rows, [&](const SampledBinary& row) {
        return !counts(sampled, row.samples) || static_cast<double>(row.bad) < kBad * static_cast<double>(row.samples);
    });
    std::ranges::sort(rows,
                      [](const auto& a, const auto& b) { return std::pair(b.bad, a.name) < std::pair(a.bad, b.name); });
    Worst worst{.text = {}, .binaries = rows.size()};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        worst.bad += rows[i].bad;
        if (i < kNamed) {
            worst.text +=
                fmt::format("{}{} ({} of {})", i == 0 ? "" : ", ", rows[i].name, rows[i].bad, rows[i].samples);
        }
    }
    if (rows.size() > kNamed) worst.text += fmt::format(" and {} more", rows.size() - kNamed);
    return worst;
}

}  // namespace

Finding check_kernel_unwinder(const Facts& facts) {
    Finding made{.check = "kernel_unwinder"};
    if (facts.architecture == "aarch64") {
        made.evidence = "arm64 kernels keep frame pointers";
    } else if (value_of(facts, "CONFIG_UNWINDER_ORC") == "y") {
        made.evidence = "ORC: the kernel's part of call chains is complete";
    } else if (value_of(facts, "CONFIG_UNWINDER_FRAME_POINTER") == "y") {
        made.evidence = "frame pointers: the kernel's part of call chains is complete";
    } else if (value_of(facts, "CONFIG_UNWINDER_GUESS") == "y") {
        made.verdict = Verdict::kDegraded;
        made.evidence =
            "this kernel guesses its call chains (CONFIG_UNWINDER_GUESS): functions that were not called may "
            "stand in them";
        made.remedy = "use a kernel with CONFIG_UNWINDER_ORC";
        made.reason = "guessed_kernel_chains";
    } else {
        made.verdict = Verdict::kUnknown;
        made.evidence = "the kernel's configuration cannot be read";
    }
    if (!enough(facts) || facts.sampled->kernel_chains < kEnough) return made;
    const auto& sampled = *facts.sampled;
    if (2 * sampled.short_kernel_chains < sampled.kernel_chains) return made;
    made.verdict = Verdict::kDegraded;
    made.evidence += fmt::format("; but {} of {} sampled kernel chains are a single frame", sampled.short_kernel_chains,
                                 sampled.kernel_chains);
    made.remedy = "use a kernel with CONFIG_UNWINDER_ORC";
    made.reason = "short_kernel_chains";
    return made;
}

Finding check_frame_pointers(const Facts& facts) {
    if (!enough(facts)) return not_sampled(facts, "frame_pointers");
    Finding made{.check = "frame_pointers"};
    const Worst worst = worst_of(*facts.sampled, facts.sampled->broken);
    if (worst.binaries == 0) {
        made.evidence =
            fmt::format("call chains of what ran in {:.0f} s reach their roots", to_seconds(facts.sampled->length));
        return made;
    }
    made.verdict = Verdict::kDegraded;
    made.evidence = "call chains end too early in " + worst.text + ", as they do in code without frame pointers";
    made.remedy =
        "build it with -fno-omit-frame-pointer, or use a distribution that does; callers above them are not "
        "seen until then";
    made.reason = "broken_chains";
    return made;
}

Finding check_symbols(const Facts& facts) {
    if (!enough(facts)) return not_sampled(facts, "symbols");
    Finding made{.check = "symbols"};
    const Worst unnamed = worst_of(*facts.sampled, facts.sampled->unnamed);
    const Worst unread = worst_of(*facts.sampled, facts.sampled->unread);
    if (unnamed.binaries + unread.binaries == 0) {
        made.evidence = fmt::format("what ran in {:.0f} s has names", to_seconds(facts.sampled->length));
        return made;
    }
    made.verdict = Verdict::kDegraded;
    made.reason = "no_symbols";
    if (unnamed.binaries > 0) {
        made.evidence = "functions without names in " + unnamed.text;
        made.remedy =
            "install the debug symbols of these binaries (Debian: the -dbgsym packages), docs/symbols.md says where "
            "they are looked for";
    }
    if (unread.binaries > 0) {
        made.evidence += (made.evidence.empty() ? "" : "; ") + ("files that could not be read: " + unread.text);
        made.remedy += made.remedy.empty() ? "" : "; ";
        made.remedy +=
            "files are opened with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, and need room in RLIMIT_NOFILE; those of "
            "programs that ended or were replaced are gone";
    }
    return made;
}

Finding check_perf_maps(const Facts& facts) {
    if (!enough(facts)) return not_sampled(facts, "perf_maps");
    Finding made{.check = "perf_maps"};
    const auto& sampled = *facts.sampled;
    if (!counts(sampled, sampled.anonymous)) {
        made.evidence = "no code was made at run time without a map of its names";
        return made;
    }
    made.verdict = Verdict::kDegraded;
    made.evidence = fmt::format("{} of {} samples are in code made at run time that has no names, of: {}",
                                sampled.anonymous, sampled.samples, fmt::join(sampled.anonymous_comms, ", "));
    made.remedy = "let them write a perf map: java -XX:+DumpPerfMapAtExit, node --perf-basic-prof, python -X perf";
    made.reason = "no_perf_maps";
    return made;
}

}  // namespace perfvigil::analyzer::doctor
