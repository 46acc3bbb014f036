// SPDX-License-Identifier: GPL-2.0-or-later
// page_faults, tlb_shootdowns, memory_reclaim, memory_compaction, memory_copies: CPU time that memory costs.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/observations/host_state.hpp"
#include "analyzer/observations/phrases.hpp"
#include "analyzer/observations/rules.hpp"

namespace perfvigil::analyzer {
namespace {

// Every program faults its pages in once; a twentieth of all time is a steady state of it.
constexpr double kFaults = 0.05;
constexpr double kFaultsMuch = 0.15;
constexpr double kShootdowns = 0.02;
// With memory to spare nothing is reclaimed or moved at all.
constexpr double kReclaims = 0.01;
constexpr double kCompacts = 0.01;
constexpr double kCopies = 0.1;
constexpr double kCopiesMuch = 0.25;

std::string huge_pages(const Tally& tally) {
    const auto choice = setting(tally.profile().host, "transparent_hugepage");
    return choice.empty() ? std::string() : fmt::format(" Transparent huge pages are set to {}.", choice);
}

void judge_faults(const Tally& tally, Observations& found) {
    const Sum sum = tally.total(Trait::kPageFault);
    const double low = tally.share(sum).interval.low;
    if (sum.samples == 0 || low < kFaults) return;
    auto made = about("page_faults", low >= kFaultsMuch ? Severity::kNotice : Severity::kInfo, tally, sum);
    made.evidence =
        fmt::format("{} is in page faults, by {}.", amount(tally, sum), tasks_listed(tally, Trait::kPageFault, 3));
    if (const Sum clearing = tally.self(Trait::kClearing); clearing.samples != 0) {
        made.evidence += fmt::format(" Clearing memory, in faults and elsewhere, takes {}.", ratio_of(tally, clearing));
        add_part(made, tally, "clearing", clearing);
    }
    made.evidence += huge_pages(tally);
    made.meaning =
        "The time goes to handing pages to programs rather than to their code: memory that is new to them, "
        "was given back and is touched again, or is copied on write.";
    made.remedy =
        "Keep memory instead of returning it (allocator trim and decay settings, MADV_DONTNEED), reuse "
        "buffers, use larger pages for large arrays, start fewer short processes.";
    found.push_back(std::move(made));
}

void judge_shootdowns(const Tally& tally, Observations& found) {
    const Sum sum = tally.total(Trait::kTlbFlush);
    const double low = tally.share(sum).interval.low;
    if (sum.samples == 0 || low < kShootdowns) return;
    auto made = about("tlb_shootdowns", Severity::kNotice, tally, sum);
    const Sum waiting = tally.cross_calls_for_tlb();
    add_part(made, tally, "waiting for other CPUs", waiting);
    made.evidence = fmt::format("{} is in flushing TLBs, {} of it waiting for other CPUs to have done it; by {}.",
                                amount(tally, sum), ratio_of(tally, waiting), tasks_listed(tally, Trait::kTlbFlush, 3));
    made.meaning =
        "Each unmapping or write protection of memory that threads share interrupts every CPU they run on, "
        "and waits for all of them.";
    made.remedy =
        "Unmap less and in larger pieces: keep freed memory (allocator settings), avoid mmap and munmap per "
        "request, and MADV_DONTNEED in programs with many threads.";
    found.push_back(std::move(made));
}

void judge_reclaim(const Tally& tally, Observations& found) {
    const Sum all = tally.total(Trait::kReclaim);
    const Sum direct = tally.total(Trait::kDirectReclaim);
    if (all.samples == 0 || tally.share(all).interval.low < kReclaims) return;
    const bool stalls = tally.share(direct).interval.low >= kReclaims;
    auto made = about("memory_reclaim", stalls ? Severity::kNotice : Severity::kInfo, tally, all);
    add_part(made, tally, "direct", direct);
    made.evidence = fmt::format("{} is in reclaiming memory, {} of it directly in the tasks that wanted some.",
                                amount(tally, all), ratio_of(tally, direct));
    made.meaning = stalls ? "Memory was so short, on the host or in a cgroup, that tasks had to free some before they "
                            "got any: they are slowed, and their profile shows the kernel's work instead of theirs."
                          : "Memory is being freed in the background to make room; that is what a page cache does, and "
                            "costs this much.";
    made.remedy =
        "See /proc/pressure/memory and the cgroups' memory.pressure and memory.events before tuning; more "
        "memory, a smaller working set or a higher memory.high end it.";
    found.push_back(std::move(made));
}

void judge_compaction(const Tally& tally, Observations& found) {
    const Sum sum = tally.total(Trait::kCompaction);
    if (sum.samples == 0 || tally.share(sum).interval.low < kCompacts) return;
    auto made = about("memory_compaction", Severity::kNotice, tally, sum);
    made.evidence = fmt::format("{} is in compacting memory, by {}.{}", amount(tally, sum),
                                tasks_listed(tally, Trait::kCompaction, 3), huge_pages(tally));
    made.meaning =
        "Somebody wants contiguous memory that is not there, and pages are moved to make it: huge pages, "
        "large network buffers and large slabs ask for such.";
    made.remedy =
        "See compact_* in /proc/vmstat; transparent_hugepage/defrag at defer or madvise keeps tasks from "
        "waiting for it.";
    found.push_back(std::move(made));
}

void judge_copies(const Tally& tally, Observations& found) {
    const Sum kernel = tally.self(Trait::kKernelCopy);
    const Sum user = tally.self(Trait::kUserCopyRoutine);
    const Sum all = kernel + user;
    const double low = tally.share(all).interval.low;
    if (all.samples == 0 || low < kCopies) return;
    auto made = about("memory_copies", low >= kCopiesMuch ? Severity::kNotice : Severity::kInfo, tally, all);
    add_part(made, tally, "kernel", kernel);
    add_part(made, tally, "user", user);
    auto rows = tally.functions_with(Trait::kKernelCopy);
    std::ranges::copy(tally.functions_with(Trait::kUserCopyRoutine), std::back_inserter(rows));
    std::ranges::stable_sort(rows, std::greater{}, [](const Pairing& row) { return row.sum.weight; });
    made.evidence = fmt::format("{} is in moving bytes: kernel {}, C library {}; {}.", amount(tally, all),
                                ratio_of(tally, kernel), ratio_of(tally, user), functions_listed(tally, rows, 3));
    made.meaning =
        "Time that grows with the bytes moved and touched for the first time, often waiting for memory. "
        "Who asks for it is one level up; see lost_callers for the C library's routines.";
    made.remedy =
        "Copy less often: larger reads into the place of use, mmap or sendfile or splice, no intermediate "
        "buffers, moves instead of copies.";
    found.push_back(std::move(made));
}

}  // namespace

void judge_memory(const Tally& tally, Observations& found) {
    if (!tally.judged()) return;
    judge_faults(tally, found);
    judge_shootdowns(tally, found);
    judge_reclaim(tally, found);
    judge_compaction(tally, found);
    judge_copies(tally, found);
}

}  // namespace perfvigil::analyzer
