// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/host_facts.hpp"

#include <sys/utsname.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr std::string_view kX86Cpu =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
    "model name\t: Intel(R) Xeon(R) Gold 6248\nstepping\t: 7\nflags\t\t: fpu vme\n\nprocessor\t: 1\nmodel\t: 1\n";
constexpr std::string_view kArmCpu = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";

std::string note(std::uint8_t fill) {
    std::string bytes("\4\0\0\0\24\0\0\0\3\0\0\0GNU\0", 16);
    return bytes + std::string(20, static_cast<char>(fill));
}

// A small machine in files.
class Machine : public testing::Test {
protected:
    HostFacts read() const { return read_host_facts(clock_, folder_.path().string()); }

    TempFolder folder_;
    ManualClock clock_;
};

TEST_F(Machine, ThatHidesEverythingLeavesEverythingEmpty) {
    const HostFacts facts = read();
    EXPECT_EQ(facts.cpu_description, "");
    EXPECT_EQ(facts.cpuid, "");
    EXPECT_EQ(facts.total_memory_kib, 0U);
    EXPECT_EQ(facts.cpus_online, 0U);
    EXPECT_EQ(facts.kernel_start, 0U);
    EXPECT_TRUE(facts.kernel_build_id.empty());
    EXPECT_THAT(facts.modules, IsEmpty());
    EXPECT_THAT(facts.vulnerabilities, IsEmpty());
    utsname name{};
    ::uname(&name);
    EXPECT_EQ(facts.os_release, name.release);
    EXPECT_EQ(facts.architecture, name.machine);
    EXPECT_THAT(facts.version, HasSubstr("perfvigil "));
    EXPECT_EQ(facts.monotonic_reference, clock_.monotonic());
    EXPECT_EQ(facts.wall_reference, clock_.wall());
}

TEST_F(Machine, CpuAndMemoryAreDescribedAsPerfDoes) {
    folder_.write("proc/cpuinfo", kX86Cpu);
    folder_.write("proc/meminfo", "MemTotal:        8130004 kB\nMemFree: 1 kB\n");
    folder_.write("sys/devices/system/cpu/online", "0-2\n");
    folder_.write("sys/devices/system/cpu/present", "0-3\n");
    folder_.write("proc/cmdline", "quiet mitigations=off\n");
    const HostFacts facts = read();
    EXPECT_EQ(facts.cpu_description, "Intel(R) Xeon(R) Gold 6248");
    EXPECT_EQ(facts.cpuid, "GenuineIntel,6,85,7");
    EXPECT_EQ(facts.total_memory_kib, 8130004U);
    EXPECT_EQ(facts.cpus_online, 3U);
    EXPECT_EQ(facts.cpus_present, 4U);
    EXPECT_EQ(facts.kernel_command_line, "quiet mitigations=off");
}

TEST_F(Machine, AnArmCpuIsItsMidrWithoutVariantAndRevision) {
    folder_.write("proc/cpuinfo", kArmCpu);
    folder_.write("sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "0x00000000413fd0c1\n");
    const HostFacts facts = read();
    EXPECT_EQ(facts.cpuid, "0x00000000410fd0c0");
    EXPECT_EQ(facts.cpu_description, "CPU implementer 0x41 part 0xd0c");
}

TEST_F(Machine, TheKernelIsFoundInKallsyms) {
    folder_.write("proc/kallsyms",
                  "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000040 T startup_64\n"
                  "ffffffff82200000 T _etext\nffffffffc0100000 t _etext_of_a_module\t[m]\n");
    folder_.write("sys/kernel/notes", note(0x5a));
    const HostFacts facts = read();
    EXPECT_EQ(facts.kernel_start, 0xffffffff81000000);
    EXPECT_EQ(facts.kernel_end, 0xffffffff82200000);
    EXPECT_EQ(facts.kernel_reference, "_text");
    EXPECT_EQ(facts.kernel_build_id.hex(), "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a");
}

TEST_F(Machine, WithoutTextTheKernelBeginsAtStext) {
    folder_.write("proc/kallsyms", "ffffffc008010000 T _stext\nffffffc009000000 T _etext");
    const HostFacts facts = read();
    EXPECT_EQ(facts.kernel_start, 0xffffffc008010000);
    EXPECT_EQ(facts.kernel_reference, "_stext");
}

TEST_F(Machine, AddressesOfZeroAreHiddenOnes) {
    folder_.write("proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T _stext\n0000000000000000 T _etext\n");
    folder_.write("proc/modules", "loop 32768 0 - Live 0x0000000000000000\n");
    const HostFacts facts = read();
    EXPECT_EQ(facts.kernel_start, 0U);
    EXPECT_THAT(facts.modules, IsEmpty());
}

TEST_F(Machine, ASymbolTableLongerThanABlockIsReadAcrossItsSeams) {
    std::string text;
    for (int i = 0; i < 20000; ++i) text += "ffffffff80000000 T some_symbol_of_some_length\n";
    folder_.write("proc/kallsyms",
                  text + "ffffffff81000000 T _text\nffffffff81000000 T _stext\nffffffff82000000 T _etext\n");
    EXPECT_EQ(read().kernel_end, 0xffffffff82000000);
}

TEST_F(Machine, ModulesHaveTheirFilesAndBuildIds) {
    const std::string release = read().os_release;
    folder_.write("proc/modules",
                  "nf_tables 282624 1 - Live 0xffffffffc0500000\n"
                  "ext4 778240 1 nf_tables,loop, Live 0xffffffffc0300000 (OE)\n"
                  "broken line\n");
    folder_.write("lib/modules/" + release + "/modules.dep",
                  "kernel/fs/ext4/ext4.ko.xz: kernel/fs/jbd2/jbd2.ko.xz\nkernel/net/nf-other.ko:\n");
    folder_.write("sys/module/ext4/notes/.note.gnu.build-id", note(0x11));
    const HostFacts facts = read();
    ASSERT_EQ(facts.modules.size(), 2U);
    EXPECT_EQ(facts.modules[0].name, "ext4");
    EXPECT_EQ(facts.modules[0].path, "/lib/modules/" + release + "/kernel/fs/ext4/ext4.ko.xz");
    EXPECT_EQ(facts.modules[0].start, 0xffffffffc0300000);
    EXPECT_EQ(facts.modules[0].size, 778240U);
    EXPECT_FALSE(facts.modules[0].build_id.empty());
    EXPECT_EQ(facts.modules[1].path, "[nf_tables]");
    EXPECT_TRUE(facts.modules[1].build_id.empty());
}

TEST_F(Machine, ModulesSayWhereEachSectionOfTheirCodeLies) {
    const std::string sections = "sys/module/ext4/sections/";
    folder_.write("proc/modules",
                  "ext4 778240 1 - Live 0xffffffffc0300000\n"
                  "hidden 4096 0 - Live 0xffffffffc0700000\n");
    folder_.write(sections + ".text", "0xffffffffc0300000\n");
    folder_.write(sections + ".text.unlikely", "0xffffffffc0390000\n");
    folder_.write(sections + ".noinstr.text", "0xffffffffc0380000\n");
    folder_.write(sections + ".init.text", "0xffffffffc0100000\n");  // freed, may be another module's by now
    folder_.write(sections + ".data", "0xffffffffc0400000\n");
    folder_.write("sys/module/hidden/sections/.text", "0xffffffffc0700000\n");
    folder_.write("sys/module/hidden/sections/.text.unlikely", "0x0000000000000000\n");
    const auto modules = read().modules;
    ASSERT_EQ(modules.size(), 2U);
    EXPECT_EQ(modules[0].sections, (std::vector<ModuleSection>{{".text", 0xffffffffc0300000},
                                                               {".noinstr.text", 0xffffffffc0380000},
                                                               {".text.unlikely", 0xffffffffc0390000}}));
    EXPECT_THAT(modules[1].sections, IsEmpty()) << "all or nothing";
}

TEST_F(Machine, ModulesThatComeAreNews) {
    const std::string root = folder_.path().string();
    folder_.write("proc/modules", "ext4 778240 1 - Live 0xffffffffc0300000\n");
    ModuleWatch watch(root, "6.1");
    EXPECT_THAT(watch.news(), IsEmpty());
    folder_.write("proc/modules",
                  "ext4 778240 2 loop, Live 0xffffffffc0300000\n"
                  "loop 32768 0 - Loading 0xffffffffc0500000\n");
    auto news = watch.news();
    ASSERT_EQ(news.size(), 1U);
    EXPECT_EQ(news[0].name, "loop");
    EXPECT_THAT(watch.news(), IsEmpty());
    folder_.write("proc/modules", "ext4 778240 2 loop, Live 0xffffffffc0300000\n");
    EXPECT_THAT(watch.news(), IsEmpty());
    folder_.write("proc/modules",
                  "ext4 778240 2 loop, Live 0xffffffffc0300000\n"
                  "loop 32768 0 - Live 0xffffffffc0600000\n");
    news = watch.news();
    ASSERT_EQ(news.size(), 1U);
    EXPECT_EQ(news[0].start, 0xffffffffc0600000) << "loaded again, elsewhere";
}

TEST_F(Machine, VulnerabilitiesAreSortedByName) {
    folder_.write("sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: Retpolines\n");
    folder_.write("sys/devices/system/cpu/vulnerabilities/l1tf", "Not affected\n");
    EXPECT_THAT(read().vulnerabilities,
                ElementsAre(Pair("l1tf", "Not affected"), Pair("spectre_v2", "Mitigation: Retpolines")));
}

TEST(HostFacts, OfThisHostAreThere) {
    const HostFacts facts = read_host_facts(system_clock());
    EXPECT_FALSE(facts.hostname.empty());
    EXPECT_GT(facts.total_memory_kib, 1024U);
    EXPECT_GE(facts.cpus_online, 1U);
    EXPECT_GE(facts.cpus_present, facts.cpus_online);
    const auto online = online_cpus();
    ASSERT_TRUE(online.has_value());
    EXPECT_EQ(online->size(), facts.cpus_online);
    EXPECT_EQ(read_cpu_times().size(), facts.cpus_online);
}

// --- /proc/stat

TEST(ProcStat, TicksBecomeNanosecondsPerCpu) {
    const auto rows = parse_proc_stat(
        "cpu  42352 0 12750 205590 1538 0 324 38 0 0\n"
        "cpu0 14906 4 4941 111294 98 1 19 17 100 0\ncpu11 1 2 3 4\nintr 1 2 3\nctxt 5\n",
        100);
    ASSERT_TRUE(rows.has_value());
    ASSERT_EQ(rows->size(), 2U);
    constexpr std::uint64_t kTick = 10'000'000;
    const CpuTimes& first = (*rows)[0];
    EXPECT_EQ(first.cpu, CpuId{0});
    EXPECT_EQ(first.user, 14910 * kTick);
    EXPECT_EQ(first.system, 4941 * kTick);
    EXPECT_EQ(first.idle, 111294 * kTick);
    EXPECT_EQ(first.iowait, 98 * kTick);
    EXPECT_EQ(first.irq, 1 * kTick);
    EXPECT_EQ(first.softirq, 19 * kTick);
    EXPECT_EQ(first.steal, 17 * kTick);
    EXPECT_EQ((*rows)[1].cpu, CpuId{11});
    EXPECT_EQ((*rows)[1].steal, 0U);
}

TEST(ProcStat, WhatIsNoStatIsAnError) {
    for (const std::string_view text :
         {"", "intr 1\n", "cpux 1 2 3 4\n", "cpu0 1 2 3\n", "cpu0 1 2 x 4\n", "cpu99999999 1 2 3 4\n"})
        EXPECT_FALSE(parse_proc_stat(text, 100).has_value()) << text;
    EXPECT_FALSE(parse_proc_stat("cpu0 1 2 3 4\n", 0).has_value());
}

std::vector<std::uint32_t> numbers(const Result<std::vector<CpuId>>& cpus) {
    std::vector<std::uint32_t> out;
    if (cpus) {
        for (const CpuId cpu : *cpus) out.push_back(cpu.value);
    }
    return out;
}

TEST(CpuList, IsReadAsTheKernelWritesIt) {
    EXPECT_THAT(numbers(parse_cpu_list("0-3,8\n")), ElementsAre(0, 1, 2, 3, 8));
    EXPECT_THAT(numbers(parse_cpu_list("5")), ElementsAre(5));
    EXPECT_THAT(numbers(parse_cpu_list("8, 1-2 ,2")), ElementsAre(1, 2, 8));
    ASSERT_TRUE(parse_cpu_list("\n").has_value());
    EXPECT_THAT(numbers(parse_cpu_list("\n")), IsEmpty());
}

TEST(CpuList, WhatIsNoneIsNamed) {
    for (const std::string_view text : {"a", "3-1", "1-", "-1", "1,,2", "0-99999999", "1-2-3"}) {
        const auto cpus = parse_cpu_list(text);
        ASSERT_FALSE(cpus.has_value()) << text;
        EXPECT_THAT(cpus.error().message, HasSubstr("is no CPU or range of CPUs"));
    }
}

}  // namespace
}  // namespace perfvigil::collector
