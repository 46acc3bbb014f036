// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/script_line.hpp"

#include <string>

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

struct Case {
    const char* line;
    const char* comm;
    std::optional<int> pid;
    std::optional<int> tid;
    std::optional<unsigned> cpu;
    std::optional<long> time_ns;
    std::optional<std::uint64_t> period;
    const char* event;
    const char* rest;
};

constexpr auto kNo = std::nullopt;

// What perf prints with its options, each line taken apart by hand.
const Case kCases[] = {
    {"dd 29776 666709.771979:   10101010 cpu-clock: ", "dd", kNo, 29776, kNo, 666709771979000, 10101010, "cpu-clock",
     ""},
    {"perf  7496/7496  [003] 264874.155353:    1001001                cpu-clock: ", "perf", 7496, 7496, 3,
     264874155353000, 1001001, "cpu-clock", ""},
    {"a 1 [000] 5.000000001: cycles:", "a", kNo, 1, 0, 5000000001, kNo, "cycles", ""},
    {"node-v011 31912 cpu-clock: ", "node-v011", kNo, 31912, kNo, kNo, kNo, "cpu-clock", ""},
    {"node-v011 31912   10101010 cpu-clock: ", "node-v011", kNo, 31912, kNo, kNo, 10101010, "cpu-clock", ""},
    {"x 12/13 [127] 250000 cycles:u: ", "x", 12, 13, 127, kNo, 250000, "cycles:u", ""},
    {"           false 39654 19115.489713:          1 cycles:u:  ffffffff9b201293 [unknown] ([unknown])", "false", kNo,
     39654, kNo, 19115489713000, 1, "cycles:u", "ffffffff9b201293 [unknown] ([unknown])"},
    // A thread may be called anything of fifteen bytes.
    {"1234 77 1.000000: cycles:", "1234", kNo, 77, kNo, 1000000000, kNo, "cycles", ""},
    {"a b: [0] 1.5: 1234 [000] 100.000001: 250000 cycles: ", "a b: [0] 1.5:", kNo, 1234, 0, 100000001000, 250000,
     "cycles", ""},
    {"HDMI polling ta   333 [001] 10.000000: cycles:", "HDMI polling ta", kNo, 333, 1, 10000000000, kNo, "cycles", ""},
    {"a 12 b 99 1.000000: cycles:", "a 12 b", kNo, 99, kNo, 1000000000, kNo, "cycles", ""},
    {"-flag 5 1.000000: cycles:", "-flag", kNo, 5, kNo, 1000000000, kNo, "cycles", ""},
    {"(x) [y]/z 5 1.000000: cycles:", "(x) [y]/z", kNo, 5, kNo, 1000000000, kNo, "cycles", ""},
    {"k/[2]  2/2 [000] 1.000000: cycles:", "k/[2]", 2, 2, 0, 1000000000, kNo, "cycles", ""},
    {"    2/2\t\t[000] 0.0:\t\t\t1 event_name: event_properties", "", 2, 2, 0, 0, 1, "event_name", "event_properties"},
    {":-1    -1/-1    [000] 3.000000:  1 cycles: ", ":-1", -1, -1, 0, 3000000000, 1, "cycles", ""},
    // Names of events hold colons and slashes, tracepoints free text.
    {"a 1 1.000000:  5 cpu_core/cycles/: ", "a", kNo, 1, kNo, 1000000000, 5, "cpu_core/cycles/", ""},
    {"a 1 1.000000:  5 cpu/event=0x3c,umask=0x0/u: ", "a", kNo, 1, kNo, 1000000000, 5, "cpu/event=0x3c,umask=0x0/u",
     ""},
    {"comm1 0/0 [000] 0.0: 1 sched:sched_switch: prev_comm=comm1 prev_pid=0 ==> next_comm=c:2 next_pid=1", "comm1", 0,
     0, 0, 0, 1, "sched:sched_switch", "prev_comm=comm1 prev_pid=0 ==> next_comm=c:2 next_pid=1"},
    {"perf 100 [000] 5.000001: sched:foo: comm=x 7 [001] 6.000002: y z:", "perf", kNo, 100, 0, 5000001000, kNo,
     "sched:foo", "comm=x 7 [001] 6.000002: y z:"},
    {"comm  0/0  [000] 0.0: event/call-graph=no/: event_properties ", "comm", 0, 0, 0, 0, kNo, "event/call-graph=no/",
     "event_properties "},
    // Columns between CPU and time.
    {"a 1 [002] d..2. 7.000000: irq:softirq_raise: vec=1", "a", kNo, 1, 2, 7000000000, kNo, "irq:softirq_raise",
     "vec=1"},
    {"a 1 [002] K     7.000000:  1 cycles: ", "a", kNo, 1, 2, 7000000000, 1, "cycles", ""},
    // -F without event, with and without a period.
    {"a 1 7.000000: ", "a", kNo, 1, kNo, 7000000000, kNo, "", ""},
    {"a 1 7.000000:   250000 ", "a", kNo, 1, kNo, 7000000000, 250000, "", ""},
    {"a 1 7.000000:   401234 main+0x4 (/bin/x)", "a", kNo, 1, kNo, 7000000000, kNo, "", "401234 main+0x4 (/bin/x)"},
    {"7.000000: cycles:", "", kNo, kNo, kNo, 7000000000, kNo, "cycles", ""},
};

TEST(ScriptLine, HeadersOfEveryShape) {
    for (const Case& expected : kCases) {
        SCOPED_TRACE(expected.line);
        const auto header = parse_script_header(expected.line);
        ASSERT_TRUE(header.has_value());
        EXPECT_EQ(header->comm, expected.comm);
        EXPECT_EQ(header->pid.has_value(), expected.pid.has_value());
        if (header->pid && expected.pid) {
            EXPECT_EQ(header->pid->value, *expected.pid);
        }
        EXPECT_EQ(header->tid.has_value(), expected.tid.has_value());
        if (header->tid && expected.tid) {
            EXPECT_EQ(header->tid->value, *expected.tid);
        }
        EXPECT_EQ(header->cpu.has_value(), expected.cpu.has_value());
        if (header->cpu && expected.cpu) {
            EXPECT_EQ(header->cpu->value, *expected.cpu);
        }
        EXPECT_EQ(header->time.has_value(), expected.time_ns.has_value());
        if (header->time && expected.time_ns) {
            EXPECT_EQ(header->time->count(), *expected.time_ns);
        }
        EXPECT_EQ(header->period, expected.period);
        EXPECT_EQ(header->event, expected.event);
        EXPECT_EQ(header->rest, expected.rest);
    }
}

TEST(ScriptLine, WhatIsNoHeader) {
    for (const char* line :
         {"", "this", "a;b;c 1", "main 5", "\tffffffff810d47be main+0x1f (/bin/x)",
          "Warning:", "# captured on: Thu Jul  7 20:47:43 2016", "Failed to open /lib/x, continuing without symbols",
          "    12.34%  comm  dso  [.] f", "a 1 99999999999999999999.000000: cycles:"}) {
        EXPECT_FALSE(parse_script_header(line).has_value()) << line;
    }
}

TEST(ScriptLine, ALineInFrontOfAFrameIsAHeader) {
    const auto nothing = parse_bare_script_header("my prog ");
    EXPECT_EQ(nothing.comm, "my prog");
    EXPECT_EQ(nothing.event, "");
    const auto event = parse_bare_script_header("  prog  77 cycles: ");
    EXPECT_EQ(event.comm, "prog");
    EXPECT_EQ(event.tid, Tid{77});
    EXPECT_EQ(event.event, "cycles");
}

struct FrameCase {
    const char* text;
    const char* symbol;
    const char* dso;
    bool inlined;
};

TEST(ScriptLine, FramesOfEveryShape) {
    const FrameCase cases[] = {
        {"main+0x1f (/bin/x)", "main", "/bin/x", false},
        {"main (/bin/x)", "main", "/bin/x", false},
        {"_start+0xffff018fd5dce000 (/bin/x)", "_start", "/bin/x", false},
        {"[unknown] ([unknown])", "[unknown]", "[unknown]", false},
        {"[unknown] (/lib/libc.so.6)", "[unknown]", "/lib/libc.so.6", false},
        {"main+0x1 (/x/delme (deleted))", "main", "/x/delme (deleted)", false},
        {"main+0x1 (/x y/a (b)/c)", "main", "/x y/a (b)/c", false},
        {"std::function<void (T&)>::operator()(T&) const+0x3 (/bin/x)",
         "std::function<void (T&)>::operator()(T&) const", "/bin/x", false},
        {"net/http.(*Client).Do+0x1 (/bin/go)", "net/http.(*Client).Do", "/bin/go", false},
        {"<A as B>::c+0x1 (/bin/r)", "<A as B>::c", "/bin/r", false},
        {"helper (inlined)", "helper", "", true},
        {"helper+0x10 (inlined)", "helper", "", true},
        {"app ([JIT app cache])", "app", "[JIT app cache]", false},
        {"f ([kernel.kallsyms].init.text)", "f", "[kernel.kallsyms].init.text", false},
        {"f+0x1 (/bin/x+0x1234)", "f", "/bin/x", false},
        {"symbol9  (module9)", "symbol9", "module9", false},
        {"LazyCompile:~body_0 evalmachine.<anonymous>:1 (/tmp/perf-31912.map)",
         "LazyCompile:~body_0 evalmachine.<anonymous>:1", "/tmp/perf-31912.map", false},
        {"main+0x1f", "main", "", false},
        {"operator+", "operator+", "", false},
        {"unbalanced) (/bin/x)", "unbalanced)", "/bin/x", false},
    };
    for (const auto& expected : cases) {
        const auto frame = parse_script_symbol(expected.text);
        EXPECT_EQ(frame.symbol, expected.symbol) << expected.text;
        EXPECT_EQ(frame.dso, expected.dso) << expected.text;
        EXPECT_EQ(frame.inlined, expected.inlined) << expected.text;
    }
}

TEST(ScriptLine, AddressesOfFrames) {
    EXPECT_EQ(after_frame_address("\t          401b97 main+0x1f (x)"), "main+0x1f (x)");
    EXPECT_EQ(after_frame_address("            ffffffff main (x)"), "main (x)");
    EXPECT_EQ(after_frame_address("\tTHIS_IS_A_WEIRD_LINE"), "");
    EXPECT_EQ(after_frame_address("\taddress symbol (module)"), "");
    EXPECT_EQ(after_frame_address("401b97 main (x)"), "");
    EXPECT_EQ(after_frame_address("\t401b97"), "");
    EXPECT_TRUE(looks_like_frame("ffffffff9b201293 [unknown] ([unknown])"));
    EXPECT_TRUE(looks_like_frame("7fa68b1f2d84 _dl_start+0x4"));
    EXPECT_FALSE(looks_like_frame("vec=1 [action=TIMER]"));
    EXPECT_FALSE(looks_like_frame("12 34"));
}

}  // namespace
}  // namespace perfvigil::analyzer
