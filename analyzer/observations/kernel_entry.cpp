// SPDX-License-Identifier: GPL-2.0-or-later
// futex_storm, syscall_entry: the kernel called too often for what it does.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/observations/host_state.hpp"
#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

// An uncontended lock of the C library makes no system call: a twentieth of all time in them is contention or wake-ups.
constexpr double kFutexes = 0.05;
constexpr double kFutexesMuch = 0.15;
// Entering and leaving takes about 100 ns: 5 % of a CPU is half a million system calls a second.
constexpr double kEntries = 0.05;
constexpr double kEntriesMuch = 0.1;

void judge_futexes(const Tally& tally, Observations& found) {
    const Sum sum = tally.total(Trait::kFutex);
    const double low = tally.share(sum).interval.low;
    if (sum.samples == 0 || low < kFutexes) return;
    auto made = about("futex_storm", low >= kFutexesMuch ? Severity::kNotice : Severity::kInfo, tally, sum);
    for (const auto& task : tally.tasks_with(Trait::kFutex)) {
        if (made.figures.size() > 12) break;
        add_part(made, tally, std::string(task.comm), task.sum);
    }
    made.evidence =
        fmt::format("{} is in futex system calls, by {}.", amount(tally, sum), tasks_listed(tally, Trait::kFutex, 3));
    made.meaning =
        "Threads put each other to sleep and wake each other through the kernel: contended locks, condition "
        "variables or work queues with very small pieces of work. How long they slept is not in this "
        "number.";
    made.remedy =
        "The callers of the futex call tell which lock; fewer threads on it, larger pieces of work, or "
        "waking once for several.";
    found.push_back(std::move(made));
}

void judge_entries(const Tally& tally, Observations& found) {
    const Sum sum = tally.self(Trait::kSyscallEntry);
    const double low = tally.share(sum).interval.low;
    if (sum.samples == 0 || low < kEntries) return;
    auto made = about("syscall_entry", low >= kEntriesMuch ? Severity::kNotice : Severity::kInfo, tally, sum);
    const auto functions = tally.functions_with(Trait::kSyscallEntry);
    for (const auto& row : std::span(functions).first(std::min<std::size_t>(3, functions.size()))) {
        add_part(made, tally, function_name(tally, row.function), row.sum);
    }
    made.evidence =
        fmt::format("{} is in entering and leaving the kernel for system calls ({}), by {}.", amount(tally, sum),
                    functions_listed(tally, functions, 3), tasks_listed(tally, Trait::kSyscallEntry, 3));
    const auto meltdown = vulnerability(tally.profile().host, "meltdown");
    if (meltdown.find("PTI") != std::string_view::npos) {
        made.evidence += fmt::format(" meltdown is \"{}\".", meltdown);
    }
    made.meaning = "So much of the time is the way in and out that the calls themselves must be short and many.";
    if (meltdown.find("PTI") != std::string_view::npos) {
        made.meaning += " Switching page tables (PTI) on each way is part of it.";
    }
    made.remedy = "Make fewer calls: larger buffers, readv and writev, sendmmsg, io_uring, cached clocks (vDSO).";
    found.push_back(std::move(made));
}

}  // namespace

void judge_kernel_entry(const Tally& tally, Observations& found) {
    if (!tally.judged()) return;
    judge_futexes(tally, found);
    judge_entries(tally, found);
}

}  // namespace perfvigil::analyzer
