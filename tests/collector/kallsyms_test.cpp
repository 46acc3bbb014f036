// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/kallsyms.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/kernel_code.hpp"

namespace perfvigil::collector {
namespace {

TEST(KallsymsLine, OfEveryKind) {
    struct {
        const char* line;
        std::uint64_t address;
        char type;
        const char* name;
        const char* module;
    } const cases[] = {
        {"ffffffff81000000 T _text", 0xffffffff81000000, 'T', "_text", ""},
        {"0000000000000000 t hidden", 0, 't', "hidden", ""},
        {"ffffffffc0201000 t nfsd_open\t[nfsd]", 0xffffffffc0201000, 't', "nfsd_open", "nfsd"},
        {"ffffffffc0301000 t bpf_prog_6deef7357e7b4530_sd_devices\t[bpf]", 0xffffffffc0301000, 't',
         "bpf_prog_6deef7357e7b4530_sd_devices", "bpf"},
        {"ffffffffc0201000 t ftrace_trampoline\t[__builtin__ftrace]", 0xffffffffc0201000, 't', "ftrace_trampoline",
         "__builtin__ftrace"},
        {"c0008000 T stext", 0xc0008000, 'T', "stext", ""},
    };
    for (const auto& expected : cases) {
        const auto line = parse_kallsyms_line(expected.line);
        ASSERT_TRUE(line) << expected.line;
        EXPECT_EQ(line->address, expected.address);
        EXPECT_EQ(line->type, expected.type);
        EXPECT_EQ(line->name, expected.name);
        EXPECT_EQ(line->module, expected.module);
    }
}

TEST(KallsymsLine, RefusesOtherText) {
    for (const char* line :
         {"", " ", "x T name", "ffff", "ffff T", "ffff T ", "ffff TT name", "ffff  name", "ffffffff81000000fff T over",
          "ffff T name\tmod", "ffff T name\t[]", "ffff T name\t[mod"}) {
        EXPECT_FALSE(parse_kallsyms_line(line)) << line;
    }
}

TEST(KallsymsStream, JoinsPiecesOfAnySize) {
    const std::string text = "10 T a\n20 t b\t[m]\nnonsense\n30 W c";
    for (std::size_t size = 1; size <= text.size(); ++size) {
        std::vector<std::string> seen;
        KallsymsStream stream(
            [&](const KallsymsLine& line) { seen.push_back(std::string(line.name) + ':' + std::string(line.module)); });
        for (std::size_t at = 0; at < text.size(); at += size) stream.feed(std::string_view(text).substr(at, size));
        stream.finish();
        EXPECT_EQ(seen, (std::vector<std::string>{"a:", "b:m", "c:"})) << size;
        EXPECT_EQ(stream.malformed(), 1U);
    }
}

TEST(KallsymsStream, SkipsEndlessLines) {
    std::size_t lines = 0;
    KallsymsStream stream([&](const KallsymsLine&) { ++lines; });
    for (int i = 0; i < 100; ++i) stream.feed(std::string(1000, 'x'));
    stream.feed("\n10 T a\n");
    stream.feed(std::string(3000, 'y'));
    stream.finish();
    EXPECT_EQ(lines, 1U);
    EXPECT_EQ(stream.malformed(), 2U);
}

TEST(SectionMarker, IsToldFromFunctions) {
    for (const char* name : {"_text", "_stext", "_etext", "__irqentry_text_start", "__softirqentry_text_end",
                             "__cpuidle_text_start", "__static_call_text_end", "_sinittext", "__pi__text"}) {
        EXPECT_TRUE(is_section_marker(name)) << name;
    }
    // All of these are functions of a 6.18 kernel.
    for (const char* name : {"vmstat_start", "t_start", "perf_trace_timer_start", "irq_entries_start",
                             "msg_add_ext_text", "core_kernel_text", "kernel_fpu_end", "page_offline_begin",
                             "__traceiter_timer_start", "bpf_init_private_text", "__cgroup_procs_start"}) {
        EXPECT_FALSE(is_section_marker(name)) << name;
    }
}

TEST(KernelCode, IsWhatTheKernelMadeWithItsLengthToTheNextSymbol) {
    const auto pieces = parse_kernel_code(
        "ffffffff81000000 T _text\n"
        "ffffffffc0201000 t bpf_prog_2_b\t[bpf]\n"
        "ffffffffc0200000 t bpf_prog_1_a\t[bpf]\n"
        "ffffffffc0202000 t ftrace_trampoline\t[__builtin__ftrace]\n"
        "ffffffffc0201800 t ext4_read\t[ext4]\n"
        "ffffffffc0203000 t kprobe_insn_page\t[__builtin__kprobes]\n"
        "0000000000000000 t bpf_prog_3_hidden\t[bpf]\n");
    ASSERT_EQ(pieces.size(), 4U);
    EXPECT_EQ(pieces[0].name, "bpf_prog_2_b");
    EXPECT_EQ(pieces[0].length, 0x800U);
    EXPECT_EQ(pieces[0].type, 1);
    EXPECT_EQ(pieces[1].length, 0x1000U);
    EXPECT_EQ(pieces[2].type, 2);
    EXPECT_EQ(pieces[3].length, 256U << 10U) << "nothing lies behind it";
}

}  // namespace
}  // namespace perfvigil::collector
