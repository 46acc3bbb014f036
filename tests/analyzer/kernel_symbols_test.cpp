// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/kernel_symbols.hpp"

#include <gtest/gtest.h>

#include <string>

namespace perfvigil::analyzer {
namespace {

// "name dso start+size" or "-".
std::string at(const KernelSymbols& symbols, std::uint64_t address) {
    const auto found = symbols.find(RuntimeAddress{address});
    if (!found) return "-";
    char text[256];
    std::snprintf(text, sizeof(text), "%.*s %.*s %lx+%lx", static_cast<int>(found->name.size()), found->name.data(),
                  static_cast<int>(found->dso.size()), found->dso.data(), found->start.value, found->size);
    return text;
}

constexpr const char* kKernel =
    "1000 T _text\n"
    "1000 T _stext\n"
    "1000 T srso_alias_untrain_ret\n"
    "1010 T __entry_text_start\n"
    "1040 T entry_SYSCALL_64\n"
    "1100 t __pfx_do_idle\n"
    "1110 t do_idle\n"
    "1200 t __cfi_nap.isra.0\n"
    "1204 t __pfx_nap.isra.0\n"
    "1210 t nap.isra.0\n"
    "1300 T vmstat_start\n"
    "1400 W weak_one\n"
    "1400 t local_long_name_of_it\n"
    "1400 T global\n"
    "1500 T __do_softirq\n"
    "1500 T _do_softirq\n"
    "1600 T last\n"
    "1680 T _etext\n"
    "2000 D __start_rodata\n"
    "2000 r some_table\n"
    "2800 D jiffies\n"
    "9000 T _sinittext\n"
    "9000 T start_kernel\n"
    "9100 T _einittext\n";

TEST(KernelSymbols, NamesAndEnds) {
    const auto symbols = KernelSymbols::parse(kKernel);
    EXPECT_FALSE(symbols.hidden());
    EXPECT_EQ(at(symbols, 0xfff), "-");
    EXPECT_EQ(at(symbols, 0x1000), "srso_alias_untrain_ret [kernel.kallsyms] 1000+10");
    EXPECT_EQ(at(symbols, 0x1010), "-");  // behind a marker lies no function until the next symbol
    EXPECT_EQ(at(symbols, 0x10ff), "entry_SYSCALL_64 [kernel.kallsyms] 1040+c0");
    // Padding in front counts to the function behind it.
    EXPECT_EQ(at(symbols, 0x1100), "do_idle [kernel.kallsyms] 1110+f0");
    EXPECT_EQ(at(symbols, 0x1150), "do_idle [kernel.kallsyms] 1110+f0");
    EXPECT_EQ(at(symbols, 0x1200), "nap.isra.0 [kernel.kallsyms] 1210+f0");
    EXPECT_EQ(at(symbols, 0x13ff), "vmstat_start [kernel.kallsyms] 1300+100");
    EXPECT_EQ(at(symbols, 0x1400), "global [kernel.kallsyms] 1400+100");
    EXPECT_EQ(at(symbols, 0x1500), "_do_softirq [kernel.kallsyms] 1500+100");
    EXPECT_EQ(at(symbols, 0x167f), "last [kernel.kallsyms] 1600+80");
    EXPECT_EQ(at(symbols, 0x1680), "-");
    EXPECT_EQ(at(symbols, 0x2000), "-");  // data is no code
    EXPECT_EQ(at(symbols, 0x9000), "start_kernel [kernel.kallsyms] 9000+100");
}

TEST(KernelSymbols, BoundsAndReference) {
    const auto symbols = KernelSymbols::parse(kKernel);
    EXPECT_EQ(symbols.address_of("_text"), RuntimeAddress{0x1000});
    EXPECT_EQ(symbols.address_of("_etext"), RuntimeAddress{0x1680});
    EXPECT_EQ(symbols.address_of("do_idle"), RuntimeAddress{0x1110});
    EXPECT_EQ(symbols.address_of("nowhere"), std::nullopt);
    EXPECT_TRUE(symbols.in_core_text(RuntimeAddress{0x1000}));
    EXPECT_FALSE(symbols.in_core_text(RuntimeAddress{0x1680}));
}

TEST(KernelSymbols, NeverReachFromOneModuleIntoAnother) {
    const auto symbols = KernelSymbols::parse(
        "1000 T _text\n"
        "1100 T core\n"
        "100000 t a_one\t[a]\n"
        "100800 t a_two\t[a]\n"
        "200000 t b_one\t[b]\n"
        "200100 t prog\t[bpf]\n"
        "200200 t tramp\t[__builtin__ftrace]\n"
        "200300 t insn\t[__builtin__kprobes]\n");
    EXPECT_EQ(at(symbols, 0x1100), "core [kernel.kallsyms] 1100+1f00");  // to the end of the page after
    EXPECT_EQ(at(symbols, 0x1fff), "core [kernel.kallsyms] 1100+1f00");
    EXPECT_EQ(at(symbols, 0x3000), "-");
    EXPECT_EQ(at(symbols, 0x1007ff), "a_one [a] 100000+800");
    EXPECT_EQ(at(symbols, 0x100fff), "a_two [a] 100800+1800");
    EXPECT_EQ(at(symbols, 0x102000), "-");
    EXPECT_EQ(at(symbols, 0x2000ff), "b_one [b] 200000+100");
    EXPECT_EQ(at(symbols, 0x200100), "prog [bpf] 200100+100");
    EXPECT_EQ(at(symbols, 0x200200), "tramp [ftrace] 200200+100");
    EXPECT_EQ(at(symbols, 0x200300), "insn [kprobes] 200300+1d00");
}

TEST(KernelSymbols, PreferTheNameThatCallersUse) {
    const auto symbols = KernelSymbols::parse(
        "1000 T __x86_indirect_thunk_array\n1000 T __pi___x86_indirect_thunk_rax\n1000 T __x86_indirect_thunk_rax\n"
        "1100 T __ia32_sys_vfork\n1100 T __x64_sys_vfork\n"
        "1200 T memcpy\n1200 T __memcpy\n1200 T __pi_memcpy\n");
    EXPECT_EQ(symbols.find(RuntimeAddress{0x1000})->name, "__x86_indirect_thunk_rax");
    EXPECT_EQ(symbols.find(RuntimeAddress{0x1100})->name, "__x64_sys_vfork");
    EXPECT_EQ(symbols.find(RuntimeAddress{0x1200})->name, "memcpy");
}

TEST(KernelSymbols, MayComeInAnyOrder) {
    const auto symbols = KernelSymbols::parse("3000 t late\t[m]\n1000 T _text\n1100 T b\n1080 T a\n1200 T _etext\n");
    EXPECT_EQ(at(symbols, 0x1080), "a [kernel.kallsyms] 1080+80");
    EXPECT_EQ(at(symbols, 0x1100), "b [kernel.kallsyms] 1100+100");
    EXPECT_EQ(at(symbols, 0x3000), "late [m] 3000+2000");
}

TEST(KernelSymbols, TellHiddenFromEmpty) {
    const auto hidden = KernelSymbols::parse("0000000000000000 T _text\n0000000000000000 t do_idle\n");
    EXPECT_TRUE(hidden.hidden());
    EXPECT_EQ(hidden.size(), 0U);
    EXPECT_FALSE(KernelSymbols::parse("").hidden());
}

TEST(KernelSymbols, ThatCannotBeReadExplainThemselves) {
    const auto loaded = KernelSymbols::load("/nonexistent/kallsyms");
    ASSERT_FALSE(loaded);
    const auto degraded = explain_hidden_kernel(&loaded.error());
    EXPECT_EQ(degraded.reason, "no_kernel_symbols");
    EXPECT_NE(degraded.detail.find("/nonexistent/kallsyms"), std::string::npos);
    EXPECT_NE(degraded.remedy.find("ProtectKernelTunables"), std::string::npos);
    const auto zeros = explain_hidden_kernel();
    EXPECT_NE(zeros.detail.find("kptr_restrict"), std::string::npos);
    EXPECT_NE(zeros.remedy.find("CAP_SYSLOG"), std::string::npos);
}

TEST(KernelSymbols, GiveTextRangesByClass) {
    const auto symbols = KernelSymbols::parse(kKernel);
    const auto ranges = symbols.text_ranges([](std::string_view name) -> std::uint8_t {
        if (name == "do_idle") return 1;
        if (name == "nap.isra.0") return 1;
        return name == "last" ? 3 : 0;
    });
    ASSERT_EQ(ranges.size(), 2U);
    EXPECT_EQ(ranges[0].start, 0x1100U);
    EXPECT_EQ(ranges[0].end, 0x1300U);  // neighbours of one class are one
    EXPECT_EQ(ranges[0].text_class, 1U);
    EXPECT_EQ(ranges[1].start, 0x1600U);
    EXPECT_EQ(ranges[1].end, 0x1680U);
    EXPECT_EQ(ranges[1].text_class, 3U);
}

TEST(KernelSymbols, SurviveHostileText) {
    std::string text;
    for (int i = 0; i < 70'000; ++i)
        text += "ffffffff" + std::to_string(10'000'000 + i) + " t f\t[m" + std::to_string(i) + "]\n";
    const auto many_modules = KernelSymbols::parse(text);
    EXPECT_EQ(many_modules.size(), 70'000U);
    EXPECT_EQ(many_modules.at(69'999).dso, "[module]");
    (void)KernelSymbols::parse("ffffffffffffffff T last\nfffffffffffffffe T before\n1 T x\n");
    EXPECT_EQ(KernelSymbols::parse("garbage\n\n1 T x\n").malformed_lines(), 2U);
}

}  // namespace
}  // namespace perfvigil::analyzer
