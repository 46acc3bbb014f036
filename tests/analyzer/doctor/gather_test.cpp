// SPDX-License-Identifier: GPL-2.0-or-later
// What the doctor reads, from hosts made of files, and from profiles.
#include "analyzer/doctor/gather.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer::doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Gather : public testing::Test {
protected:
    Facts read() {
        options.root = root.path();
        return gather(options, {});
    }
    test::TempFolder root;
    GatherOptions options;
};

TEST_F(Gather, OfNothingNothingIsKnown) {
    const auto facts = read();
    EXPECT_FALSE(facts.paranoid);
    EXPECT_FALSE(facts.proc_sys_readable);
    EXPECT_FALSE(facts.sys_readable);
    EXPECT_EQ(facts.cpus_online, 1U);
    EXPECT_EQ(facts.kallsyms, Facts::Symbols::kNone);
    EXPECT_THAT(facts.pmus, IsEmpty());
    EXPECT_EQ(facts.process.capabilities, 0U);
    rlimit own{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &own), 0);
    EXPECT_EQ(facts.process.files_max, own.rlim_max) << "whoever has no file left knows how many there may be";
    EXPECT_FALSE(facts.sample_cost);
}

TEST_F(Gather, SettingsLimitsAndRights) {
    root.write("sys/devices/system/cpu/online", "0-3\n");
    root.write("proc/sys/kernel/perf_event_paranoid", "-1\n");
    root.write("proc/sys/kernel/kptr_restrict", "1\n");
    root.write("proc/sys/kernel/perf_event_max_sample_rate", "32000\n");
    root.write("sys/devices/system/cpu/nohz_full", "(null)\n");
    root.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock\n");
    root.write("proc/77/status", "Name:\tx\nCapEff:\t0000004400080004\nSeccomp:\t2\nSeccomp_filters:\t1\n");
    root.write("proc/77/limits",
               "Limit                     Soft Limit           Hard Limit           Units     \n"
               "Max open files            1024                 4096                 files     \n"
               "Max locked memory         unlimited            unlimited            bytes     \n");
    root.write("proc/77/uid_map", "         0          0 4294967295\n");
    options.process = "77";
    options.process_name = "perfvigild";
    const auto facts = read();
    EXPECT_EQ(facts.cpus_online, 4U);
    EXPECT_EQ(facts.paranoid, -1);
    EXPECT_EQ(facts.kptr_restrict, 1);
    EXPECT_EQ(facts.max_sample_rate, 32000);
    EXPECT_THAT(facts.nohz_full, IsEmpty());
    EXPECT_EQ(facts.clock_source, "kvm-clock");
    EXPECT_EQ(facts.process.name, "perfvigild");
    EXPECT_TRUE(facts.process.has(Capability::kPerfmon));
    EXPECT_TRUE(facts.process.has(Capability::kSyslog));
    EXPECT_TRUE(facts.process.has(Capability::kSysPtrace));
    EXPECT_TRUE(facts.process.has(Capability::kDacReadSearch));
    EXPECT_FALSE(facts.process.has(Capability::kSysAdmin));
    EXPECT_EQ(facts.process.seccomp, 2);
    EXPECT_EQ(facts.process.files_max, 4096U);
    EXPECT_FALSE(facts.process.locked_max) << "unlimited";
    EXPECT_TRUE(facts.process.initial_user_namespace);
}

TEST_F(Gather, AUserNamespaceOfItsOwn) {
    root.write("proc/self/uid_map", "         0       1000          1\n");
    EXPECT_FALSE(read().process.initial_user_namespace);
    root.write("proc/self/uid_map", "         0     100000      65536\n     65536     300000      65536\n");
    EXPECT_FALSE(read().process.initial_user_namespace);
}

TEST_F(Gather, APidNamespaceOfItsOwn) {
    EXPECT_TRUE(read().process.initial_pid_namespace) << "not to be seen";
    root.write("proc/self/ns/x", "");
    const std::string link = root / "proc/self/ns/pid";
    ASSERT_EQ(::symlink("pid:[4026531836]", link.c_str()), 0);
    EXPECT_TRUE(read().process.initial_pid_namespace);
    ASSERT_EQ(::unlink(link.c_str()), 0);
    ASSERT_EQ(::symlink("pid:[4026532204]", link.c_str()), 0);
    EXPECT_FALSE(read().process.initial_pid_namespace);
}

TEST_F(Gather, KernelSymbolsShownOrZero) {
    root.write("proc/kallsyms", "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\n");
    EXPECT_EQ(read().kallsyms, Facts::Symbols::kShown);
    root.write("proc/kallsyms", "0000000000000000 A fixed_percpu_data\n0000000000000000 T _text\n");
    EXPECT_EQ(read().kallsyms, Facts::Symbols::kZero);
}

TEST_F(Gather, KindsOfCores) {
    root.write("sys/bus/event_source/devices/cpu_core/cpus", "0-7\n");
    root.write("sys/bus/event_source/devices/cpu_atom/cpus", "8-15\n");
    root.write("sys/bus/event_source/devices/uncore_imc_0/cpumask", "0\n");
    root.write("sys/bus/event_source/devices/software/type", "1\n");
    const auto facts = read();
    ASSERT_EQ(facts.pmus.size(), 2U);
    EXPECT_EQ(facts.pmus[0].name, "cpu_atom");
    EXPECT_EQ(facts.pmus[0].cpus, "8-15");
    EXPECT_EQ(facts.pmus[1].name, "cpu_core");
}

TEST_F(Gather, FoldersAreJudgedByWhatIsThere) {
    root.write("store/a.profile", std::string(1000, 'x'));
    options.folders = {{"store.dir", root / "store", 1U << 20U},
                       {"captures.dir", root / "store/not/yet", 5},
                       {"odd.dir", root / "store/a.profile", 5}};
    const auto facts = read();
    ASSERT_EQ(facts.folders.size(), 3U);
    EXPECT_EQ(facts.folders[0].used, 1000U);
    EXPECT_THAT(facts.folders[0].trouble, IsEmpty());
    EXPECT_GT(facts.folders[0].free.value_or(0), 0U);
    EXPECT_EQ(facts.folders[1].used, 0U);
    EXPECT_THAT(facts.folders[1].trouble, IsEmpty()) << "it is made at the first start";
    EXPECT_THAT(facts.folders[2].trouble, HasSubstr("not a folder"));
    EXPECT_FALSE(facts.folders[2].denied);
}

TEST(GatherSampled, WhatAProfileSaysOfItsBinaries) {
    Profile profile;
    profile.duration = std::chrono::seconds(2);
    profile.events = {{.name = "cycles", .unit = WeightUnit::kCycles},
                      {.name = "cpu-clock", .unit = WeightUnit::kNanoseconds}};
    profile.functions = {{"main", "/usr/bin/app"},
                         {"[unknown]", "/usr/bin/app", false, UnknownReason::kNoSymbols},
                         {"[unknown]", "//anon", false, UnknownReason::kAnonymous},
                         {"do_syscall_64", "[kernel.kallsyms]", true},
                         {"entry", "[kernel.kallsyms]", true},
                         {"[unknown]", "/usr/bin/app", false, UnknownReason::kNoFile}};
    profile.stacks = {{{0}}, {{1, 0}}, {{2, 0}}, {{3, 4, 0}}, {{3, 0}}, {{5}}};
    profile.contexts = {{.comm = "app", .unit = "", .container = ""}};
    const auto add = [&](std::uint32_t event, std::uint32_t stack, std::uint64_t samples, bool idle = false) {
        profile.samples.push_back(
            {.event = event, .stack = stack, .context = 0, .idle = idle, .samples = samples, .weight = samples});
    };
    add(1, 0, 10);
    add(1, 1, 20);
    add(1, 2, 30);
    add(1, 3, 40);
    add(1, 4, 5);
    add(1, 5, 7);
    add(0, 1, 1000);
    add(1, 1, 2000, true);
    profile.broken = {{"/usr/lib/libc.so.6", 50, 40}};
    const auto facts = sampled_facts(profile);
    EXPECT_EQ(facts.samples, 112U) << "of the clock, without idle";
    EXPECT_EQ(facts.anonymous, 30U);
    EXPECT_THAT(facts.anonymous_comms, ElementsAre("app"));
    EXPECT_EQ(facts.kernel_chains, 45U);
    EXPECT_EQ(facts.short_kernel_chains, 5U);
    ASSERT_EQ(facts.broken.size(), 1U);
    EXPECT_EQ(facts.broken[0].name, "libc.so.6");
    const auto app = std::ranges::find(facts.unnamed, "app", &SampledBinary::name);
    ASSERT_NE(app, facts.unnamed.end());
    EXPECT_EQ(app->samples, 37U);
    EXPECT_EQ(app->bad, 20U);
    const auto unread = std::ranges::find(facts.unread, "app", &SampledBinary::name);
    ASSERT_NE(unread, facts.unread.end());
    EXPECT_EQ(unread->samples, 37U);
    EXPECT_EQ(unread->bad, 7U);
}

}  // namespace
}  // namespace perfvigil::analyzer::doctor
