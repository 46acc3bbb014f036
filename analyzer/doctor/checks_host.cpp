// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/doctor/checks.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer::doctor {

// Which copy of kallsyms stock perf would need here. Nothing of ours depends on it, so nothing is wrong either way.
Finding check_module_layout(const Facts& facts) {
    Finding made{.check = "module_layout"};
    if (!facts.module_layout) {
        made.verdict = Verdict::kUnknown;
        made.evidence = "how modules are laid out was not looked at";
        return made;
    }
    const auto& layout = *facts.module_layout;
    if (layout.layout == ModuleLayout::kUnknown) made.verdict = Verdict::kUnknown;
    made.evidence = fmt::format("for stock perf: perfvigil kallsyms --{}. {}",
                                layout.form == KallsymsForm::kFull ? "full" : "stripped", layout.evidence);
    return made;
}

// kernel/events/core.c: cpu-clock is a timer of each CPU, which wakes it.
Finding check_idle(const Facts& facts) {
    Finding made{.check = "idle_wakeups"};
    made.evidence = fmt::format("each idle CPU is woken {} times a second by cpu-clock", facts.frequency);
    if (!facts.sys_readable) {
        made.evidence += "; which idle states that disturbs is not known: /sys cannot be read";
    } else if (facts.idle_driver.empty() || facts.idle_driver == "none") {
        made.evidence += "; there are no deep idle states here to disturb";
    } else {
        made.evidence += fmt::format(
            "; deep idle states ({}) are reached less often, which shows in power, not in time", facts.idle_driver);
    }
    return made;
}

// account_freq_event_nohz() of kernel/events/core.c: one event in frequency mode turns the tick on again on every CPU.
Finding check_isolation(const Facts& facts) {
    Finding made{.check = "nohz_full"};
    if (!facts.sys_readable) {
        made.verdict = Verdict::kUnknown;
        made.evidence = "/sys cannot be read";
        return made;
    }
    if (facts.nohz_full.empty()) {
        made.evidence = facts.isolated.empty() ? "no CPU is tickless or isolated"
                                               : "no CPU is tickless; isolated: " + facts.isolated;
        return made;
    }
    made.evidence = fmt::format("CPUs {} are tickless (nohz_full): ", facts.nohz_full);
    if (facts.hardware_events == 0) {
        made.evidence += "nothing that is recorded turns their tick on";
        return made;
    }
    made.verdict = Verdict::kDegraded;
    made.reason = "nohz_full";
    if (facts.hardware_events == facts.events) {
        made.evidence +=
            "hardware events sampled by frequency turn the tick of all CPUs on, as long as they are recorded";
        made.remedy = "add cpu-clock to recording.events: beside it recordings leave hardware events out";
        return made;
    }
    made.evidence +=
        "hardware events sampled by frequency would turn the tick of all CPUs on again, so recordings leave them out";
    made.remedy =
        "nothing needs to be done; perfvigil record -e cycles,cpu-clock records them all the same, for as long as it "
        "runs";
    return made;
}

Finding check_time(const Facts& facts) {
    Finding made{.check = "clock"};
    if (facts.clock_source.empty()) {
        made.verdict = Verdict::kUnknown;
        made.evidence = "the clock source cannot be read";
        return made;
    }
    made.evidence = "clock source " + facts.clock_source;
    constexpr std::array<std::string_view, 4> kSlow{"hpet", "acpi_pm", "jiffies", "refined-jiffies"};
    if (std::ranges::find(kSlow, facts.clock_source) != kSlow.end()) {
        made.verdict = Verdict::kDegraded;
        made.evidence += ": reading it is slow, and each sample reads it";
        made.remedy = "find out why the kernel gave up the processor's own counter (dmesg | grep -i clocksource)";
        made.reason = "slow_clock";
        return made;
    }
    if (!facts.clock_synchronized) return made;
    made.evidence += *facts.clock_synchronized
                         ? ", wall time is synchronized"
                         : ", wall time is not synchronized: windows of different hosts may not match";
    return made;
}

Finding check_disk(const Facts& facts) {
    Finding made{.check = "disk"};
    const auto worse = [&](Verdict verdict, const std::string& remedy) {
        made.verdict = std::max(made.verdict, verdict);
        made.remedy += (made.remedy.empty() ? "" : "; ") + remedy;
        made.reason = "disk";
    };
    for (const auto& folder : facts.folders) {
        if (!made.evidence.empty()) made.evidence += "; ";
        made.evidence += fmt::format("{} {}", folder.key, folder.path);
        if (folder.denied && !facts.process.is_daemon) {
            made.evidence += ": " + folder.trouble + " for this user; ask as root";
            made.verdict = std::max(made.verdict, Verdict::kUnknown);
            continue;
        }
        if (!folder.trouble.empty()) {
            made.evidence += " cannot be written: " + folder.trouble;
            worse(Verdict::kDegraded, "make " + folder.path + " writable for perfvigild");
            continue;
        }
        if (!folder.free) continue;
        made.evidence += fmt::format(" may hold {}, holds {}, {} are free", human_bytes(folder.limit),
                                     human_bytes(folder.used), human_bytes(*folder.free));
        if (folder.used + *folder.free < folder.limit) {
            worse(Verdict::kDegraded, fmt::format("free space, or lower the limit of {}", folder.key));
        }
        if (folder.file_system == "tmpfs" || folder.file_system == "ramfs") {
            made.evidence += " (in memory)";
            worse(Verdict::kDegraded, "put " + folder.key + " on a disk: it is lost at the next boot");
        }
    }
    if (facts.folders.empty()) {
        made.verdict = Verdict::kUnknown;
        made.evidence = "not looked at";
    }
    return made;
}

Finding check_daemon(const Facts& facts) {
    Finding made{.check = "daemon"};
    if (!facts.daemon) {
        made.verdict = Verdict::kUnknown;
        made.evidence = facts.no_daemon.empty() ? "not asked" : "none answers: " + facts.no_daemon;
        return made;
    }
    made.evidence = "perfvigild " + facts.daemon->version + " runs";
    if (facts.daemon->degraded.empty()) return made;
    made.verdict = Verdict::kDegraded;
    std::string reasons;
    for (const auto& one : facts.daemon->degraded) reasons += (reasons.empty() ? "" : ", ") + one.reason;
    made.evidence += " and is degraded: " + reasons;
    made.remedy = "perfvigil status says what follows from each, and the way out";
    made.reason = "daemon_degraded";
    return made;
}

}  // namespace perfvigil::analyzer::doctor
