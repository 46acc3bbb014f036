// SPDX-License-Identifier: GPL-2.0-or-later
// What a report looks like on terminals of 80 and 120 columns and in a pipe. UPDATE_GOLDEN=1 writes the texts anew;
// read the difference before you commit it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "analyzer/report.hpp"
#include "analyzer/text_table.hpp"
#include "base/text.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/profile_maker.hpp"

namespace perfvigil::analyzer {
namespace {

using test::ProfileMaker;

void expect_golden(const std::string& name, const std::string& text) {
    const auto path = std::string(test::kGoldenDir) + "/" + name;
    if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
    std::ifstream stored(path);
    const std::string expected{std::istreambuf_iterator<char>(stored), {}};
    EXPECT_EQ(text, expected) << "UPDATE_GOLDEN=1 writes " << name << " anew";
}

ProfileCpu cpu(std::uint32_t number) {
    ProfileCpu made;
    made.sum.cpu = CpuId{number};
    made.sum.clock_recorded = true;
    made.sum.enabled = std::chrono::seconds(1);
    made.sum.ticks_due = 100;
    made.sum.samples = 100;
    made.sum.mode_time[index_of(Mode::kUser)] = std::chrono::milliseconds(800);
    made.sum.mode_time[index_of(Mode::kIdle)] = std::chrono::milliseconds(200);
    made.ledger = {.total = 1'000'000'000, .busy = 800'000'000, .idle = 200'000'000};
    made.busy = {0.8, {0.711, 0.867}, 1.0, true};
    return made;
}

//  A server: copy() is hot from three sides, of which one forks again; std:: names are as long as they are.
Profile server() {
    const ProfileMaker::Who web{.comm = "server", .cgroup = "/system.slice/server.service"};
    const std::string start = "_start;__libc_start_main;main;";
    const std::string tree =
        "std::_Rb_tree<std::string, std::pair<std::string const, long>, std::less<void>>::_M_insert_;";
    ProfileMaker maker;
    maker.add(start + "serve;handle_request;parse_headers;read_line;copy@/lib/libc.so.6", 300, web)
        .add(start + "serve;handle_request;render_page;expand_template;append;copy@/lib/libc.so.6", 120, web)
        .add(start + "serve;handle_request;render_page;" + tree + "copy@/lib/libc.so.6", 60, web)
        .add("clone3@/lib/libc.so.6;start_thread@/lib/libc.so.6;log_writer;flush;copy@/lib/libc.so.6", 20, web)
        .add(start + "reload;copy@/lib/libc.so.6", 2, web)
        .add(start + "serve;handle_request;walk;walk;walk;walk;hash", 150, web)
        .add(start + "serve;handle_request;render_page", 100, web)
        .add(start +
                 "serve;wait;entry_SYSCALL_64_after_hwframe@[kernel.kallsyms];do_syscall_64@[kernel.kallsyms];"
                 "__x64_sys_epoll_wait@[kernel.kallsyms]",
             90, web)
        .add(start +
                 "serve;[unknown]@/usr/lib/x86_64-linux-gnu/libstripped.so.1;copy@/lib/libc.so.6;"
                 "asm_exc_page_fault@[kernel.kallsyms];exc_page_fault@[kernel.kallsyms];clear_page@[kernel.kallsyms]",
             58, web)
        .add("ret_from_fork_asm@[kernel.kallsyms];kthread@[kernel.kallsyms];worker_thread@[kernel.kallsyms]", 100,
             {.comm = "kworker/0:1"})
        .idle("default_idle@[kernel.kallsyms]", 500);
    auto profile = maker.build();
    profile.id = "20260131T120500Z";
    profile.cpus = {cpu(0), cpu(1)};
    profile.degraded.push_back(
        {.reason = "no_pmu",
         .detail = "cycles: perf_event_open: No such file or directory: this machine offers no cycle "
                   "counter to us, so only cpu-clock is recorded",
         .remedy = "In a virtual machine: let the hypervisor expose a PMU (QEMU/KVM: -cpu host,pmu=on)."});
    profile.warnings.emplace_back(
        "Something that a reader should know before anything else, said at some length so that it has to be broken.");
    return profile;
}

void expect_width(const std::string& text, std::size_t width) {
    for (const auto line : split(text, '\n')) EXPECT_LE(display_width(line), width) << line;
}

TEST(ReportLayout, Terminals) {
    for (const std::size_t width : {80, 120}) {
        const auto text = report_text(server(), {.width = width});
        expect_width(text, width);
        expect_golden("report_" + std::to_string(width) + ".txt", text);
    }
}

TEST(ReportLayout, PipesGetWholeLines) { expect_golden("report_pipe.txt", report_text(server(), {.width = 0})); }

TEST(ReportLayout, Focus) {
    const auto text = report_text(server(), {.width = 80, .focus = "handle_request"});
    expect_width(text, 80);
    expect_golden("report_focus.txt", text);
}

TEST(ReportLayout, GroupsAndNoChains) {
    const auto text = report_text(server(), {.top = 3,
                                             .width = 80,
                                             .total = ReportOptions::Total::kHide,
                                             .percent_limit = 5,
                                             .by = {GroupKey::kComm, GroupKey::kDso, GroupKey::kSymbol}});
    expect_width(text, 80);
    expect_golden("report_by.txt", text);
}

}  // namespace
}  // namespace perfvigil::analyzer
