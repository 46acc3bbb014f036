// SPDX-License-Identifier: GPL-2.0-or-later
// Every check of the doctor against hosts of all kinds: each row changes a healthy host in one way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cerrno>
#include <fstream>
#include <functional>
#include <set>

#include "analyzer/doctor/finding.hpp"
#include "analyzer/doctor/sysctl.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer::doctor {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::uint64_t bit(Capability one) { return std::uint64_t{1} << static_cast<unsigned>(one); }

collector::EventProbe probe(std::string event, std::uint64_t counted, std::uint64_t samples) {
    return {.event = std::move(event),
            .cpus = {CpuId{0}, CpuId{1}},
            .refusals = {},
            .trial = collector::EventProbe::Trial{
                .worked = milliseconds(100), .counted = counted, .samples = samples, .lost = 0, .hertz = 999}};
}

// Two CPUs with a PMU, profiled by root, nothing to complain of.
Facts healthy() {
    Facts facts;
    facts.release = "6.12.9-amd64";
    facts.architecture = "x86_64";
    facts.cpus_online = 2;
    facts.ring_bytes = 2U << 20U;
    facts.process.name = "this process";
    facts.process.capabilities = ~std::uint64_t{0};
    facts.process.locked_max = 8U << 20U;
    facts.process.files_max = 524288;
    facts.paranoid = 2;
    facts.kptr_restrict = 1;
    facts.mlock_kib = 516;
    facts.max_sample_rate = 100000;
    facts.nmi_watchdog = 1;
    facts.kallsyms = Facts::Symbols::kShown;
    facts.modules_readable = true;
    facts.module_layout = ModuleLayoutVerdict{.layout = ModuleLayout::kWhole,
                                              .form = KallsymsForm::kStripped,
                                              .modules = 40,
                                              .split = {},
                                              .evidence = "None of 40 loaded modules is split."};
    facts.proc_sys_readable = true;
    facts.sys_readable = true;
    facts.pmus = {{"cpu", ""}};
    facts.kernel_config = {{"CONFIG_UNWINDER_ORC", "y"}};
    facts.idle_driver = "intel_idle";
    facts.clock_source = "tsc";
    facts.clock_synchronized = true;
    facts.folders = {
        {.key = "store.dir", .path = "/v/p", .limit = 1U << 30U, .free = 10ULL << 30U, .file_system = "ext4"}};
    facts.probes = {probe("cycles", 300'000'000, 95), probe("cpu-clock", 100'000'000, 99)};
    facts.sample_cost = collector::SampleCost{.value = std::chrono::microseconds(12)};
    facts.sampled = SampledFacts{.length = std::chrono::seconds(2),
                                 .samples = 500,
                                 .broken = {{"app", 400, 3}},
                                 .unnamed = {{"app", 400, 2}},
                                 .kernel_chains = 100,
                                 .short_kernel_chains = 4};
    facts.daemon = Facts::Daemon{.version = "0.1.0", .degraded = {}};
    return facts;
}

const Finding& of(const std::vector<Finding>& findings, std::string_view check) {
    static const Finding kNone{.check = "none"};
    const auto found = std::ranges::find(findings, check, &Finding::check);
    return found == findings.end() ? kNone : *found;
}

TEST(Doctor, AHealthyHostIsWellInEveryCheck) {
    const auto findings = examine(healthy());
    EXPECT_THAT(findings, SizeIs(23));
    std::set<std::string> names;
    for (const auto& one : findings) {
        EXPECT_EQ(one.verdict, Verdict::kOk) << one.check << ": " << one.evidence;
        EXPECT_FALSE(one.evidence.empty()) << one.check;
        EXPECT_THAT(one.remedy, IsEmpty()) << one.check;
        EXPECT_THAT(one.reason, IsEmpty()) << one.check;
        EXPECT_TRUE(names.insert(one.check).second) << one.check << " twice";
    }
    EXPECT_EQ(worst(findings), Verdict::kOk);
}

struct Case {
    const char* name;
    const char* check;
    Verdict verdict;
    std::function<void(Facts&)> change;
    const char* evidence;
    const char* remedy = "";
    const char* reason = "";
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class DoctorCase : public testing::TestWithParam<Case> {};

TEST_P(DoctorCase, IsNamedWithEvidenceAndRemedy) {
    Facts facts = healthy();
    GetParam().change(facts);
    const auto findings = examine(facts);
    const auto& found = of(findings, GetParam().check);
    EXPECT_EQ(verdict_name(found.verdict), verdict_name(GetParam().verdict)) << found.evidence;
    EXPECT_THAT(found.evidence, HasSubstr(GetParam().evidence));
    EXPECT_THAT(found.remedy, HasSubstr(GetParam().remedy));
    EXPECT_EQ(found.reason, GetParam().reason);
    const bool bad = found.verdict == Verdict::kDegraded || found.verdict == Verdict::kBroken;
    EXPECT_EQ(bad, !found.reason.empty());
    EXPECT_EQ(bad, !found.remedy.empty()) << "whoever says that something is wrong says what to do";
    EXPECT_GE(worst(findings), found.verdict);
}

void drop(Facts& facts, Capability one) { facts.process.capabilities &= ~bit(one); }
void rights(Facts& facts, std::initializer_list<Capability> some) {
    facts.process.capabilities = 0;
    for (const auto one : some) facts.process.capabilities |= bit(one);
}
void hide_symbols(Facts& facts, Facts::Symbols how) {
    facts.kallsyms = how;
    facts.daemon.reset();
}
collector::EventProbe& cycles(Facts& facts) { return facts.probes[0]; }
collector::EventProbe& clock_event(Facts& facts) { return facts.probes[1]; }

INSTANTIATE_TEST_SUITE_P(
    Rights, DoctorCase,
    testing::Values(
        Case{"ParanoidUnknown", "paranoid", Verdict::kUnknown, [](Facts& f) { f.paranoid.reset(); }, "cannot be read"},
        Case{"ParanoidThreeWithoutAdmin", "paranoid", Verdict::kBroken,
             [](Facts& f) {
                 f.paranoid = 3;
                 drop(f, Capability::kSysAdmin);
                 clock_event(f).refusals = {{CpuId{0}, EACCES}, {CpuId{1}, EACCES}};
             },
             "only CAP_SYS_ADMIN may record", "sysctl kernel.perf_event_paranoid=2", "paranoid"},
        Case{"ParanoidThreeUntried", "paranoid", Verdict::kBroken,
             [](Facts& f) {
                 f.paranoid = 3;
                 drop(f, Capability::kSysAdmin);
                 f.probes.clear();
             },
             "only CAP_SYS_ADMIN may record", "sysctl kernel.perf_event_paranoid=2", "paranoid"},
        Case{"ParanoidThreeOfAKernelWithoutThatPatch", "paranoid", Verdict::kOk,
             [](Facts& f) {
                 f.paranoid = 4;
                 drop(f, Capability::kSysAdmin);
             },
             "is 4, and this process may record all the same"},
        Case{"ParanoidThreeAsRoot", "paranoid", Verdict::kOk, [](Facts& f) { f.paranoid = 3; }, "is 3"},
        Case{"ParanoidTwoWithoutRights", "paranoid", Verdict::kBroken,
             [](Facts& f) { rights(f, {Capability::kSyslog}); }, "need CAP_PERFMON", "grant CAP_PERFMON", "paranoid"},
        Case{"ParanoidZeroWithoutRights", "paranoid", Verdict::kOk,
             [](Facts& f) {
                 rights(f, {});
                 f.paranoid = 0;
             },
             "is 0"},
        Case{"NoPtrace", "capabilities", Verdict::kDegraded, [](Facts& f) { drop(f, Capability::kSysPtrace); },
             "lacks CAP_SYS_PTRACE (to see the mappings", "AmbientCapabilities=CAP_SYS_PTRACE", "no_capabilities"},
        Case{"ParanoidZeroNeedsNoPerfmon", "capabilities", Verdict::kOk,
             [](Facts& f) {
                 drop(f, Capability::kPerfmon);
                 drop(f, Capability::kSysAdmin);
                 drop(f, Capability::kSyslog);
                 f.paranoid = 0;
                 f.kptr_restrict = 0;
             },
             "has what it needs"},
        Case{"RestrictedAddressesNeedSyslog", "capabilities", Verdict::kDegraded,
             [](Facts& f) {
                 drop(f, Capability::kSyslog);
                 f.paranoid = 0;
             },
             "lacks CAP_SYSLOG (to see", "CAP_SYSLOG", "no_capabilities"},
        Case{"AdminIsPerfmonToo", "capabilities", Verdict::kOk, [](Facts& f) { drop(f, Capability::kPerfmon); }, "has"},
        Case{"ZeroAddresses", "kernel_symbols", Verdict::kDegraded,
             [](Facts& f) { hide_symbols(f, Facts::Symbols::kZero); }, "zeros", "CAP_SYSLOG", "no_kernel_symbols"},
        Case{"ZeroToThisUserAlone", "kernel_symbols", Verdict::kOk,
             [](Facts& f) { f.kallsyms = Facts::Symbols::kZero; }, "perfvigild has the kernel's addresses"},
        Case{"ZeroToTheDaemonToo", "kernel_symbols", Verdict::kDegraded,
             [](Facts& f) {
                 f.kallsyms = Facts::Symbols::kZero;
                 f.daemon->degraded = {{"no_kernel_symbols", "x", "y"}};
             },
             "zeros", "CAP_SYSLOG", "no_kernel_symbols"},
        Case{"RestrictedForAll", "kernel_symbols", Verdict::kDegraded,
             [](Facts& f) {
                 hide_symbols(f, Facts::Symbols::kZero);
                 f.kptr_restrict = 2;
             },
             "kptr_restrict is 2", "sysctl kernel.kptr_restrict=1 (perfvigil doctor --fix sysctl)",
             "no_kernel_symbols"},
        Case{"RestrictedForAllAndNoRight", "kernel_symbols", Verdict::kDegraded,
             [](Facts& f) {
                 hide_symbols(f, Facts::Symbols::kZero);
                 drop(f, Capability::kSyslog);
                 f.kptr_restrict = 2;
             },
             "kptr_restrict is 2", "; and grant CAP_SYSLOG", "no_kernel_symbols"},
        Case{"NoKallsyms", "kernel_symbols", Verdict::kDegraded,
             [](Facts& f) { hide_symbols(f, Facts::Symbols::kNone); }, "cannot be read", "ProtectKernelTunables=no",
             "no_kernel_symbols"},
        Case{"LittleLockedMemory", "locked_memory", Verdict::kDegraded,
             [](Facts& f) {
                 drop(f, Capability::kIpcLock);
                 f.process.locked_max = 64U << 10U;
             },
             "allow 1096 KiB", "LimitMEMLOCK=infinity", "small_rings"},
        Case{"EnoughLockedMemory", "locked_memory", Verdict::kOk, [](Facts& f) { drop(f, Capability::kIpcLock); },
             "allow 9224 KiB"},
        Case{"FewFiles", "open_files", Verdict::kDegraded, [](Facts& f) { f.process.files_max = 60; },
             "about 76 are needed", "LimitNOFILE=152", "open_files"},
        Case{"HardlyAnyFiles", "open_files", Verdict::kBroken,
             [](Facts& f) {
                 f.process.files_max = 20;
                 drop(f, Capability::kSysResource);
             },
             "allows 20", "LimitNOFILE", "open_files"},
        Case{"HardlyAnyFilesForWhoMayRaiseThem", "open_files", Verdict::kDegraded,
             [](Facts& f) { f.process.files_max = 20; }, "allows 20", "LimitNOFILE", "open_files"},
        Case{"Container", "sandbox", Verdict::kBroken, [](Facts& f) { f.process.initial_user_namespace = false; },
             "user namespace of its own", "PrivateUsers=no", "sandbox"},
        Case{"RightsOfAContainerDoNotCount", "capabilities", Verdict::kDegraded,
             [](Facts& f) { f.process.initial_user_namespace = false; }, "lacks CAP_PERFMON", "", "no_capabilities"},
        Case{"NoSys", "sandbox", Verdict::kBroken, [](Facts& f) { f.sys_readable = false; },
             "/sys/devices/system/cpu cannot be read", "let /sys be seen", "sandbox"},
        Case{"NoSysNoRings", "locked_memory", Verdict::kUnknown, [](Facts& f) { f.sys_readable = false; }, "not known"},
        Case{"NoSysNoFiles", "open_files", Verdict::kUnknown, [](Facts& f) { f.sys_readable = false; }, "not known"},
        Case{"NoSettingsNoRings", "locked_memory", Verdict::kUnknown,
             [](Facts& f) {
                 drop(f, Capability::kIpcLock);
                 f.process.locked_max = 64U << 10U;
                 f.mlock_kib.reset();
             },
             "perf_event_mlock_kb cannot be read"},
        Case{"PidsOfItsOwn", "sandbox", Verdict::kDegraded, [](Facts& f) { f.process.initial_pid_namespace = false; },
             "this process runs in a PID namespace of its own", "--pid=host", "sandbox"},
        Case{"HiddenModules", "sandbox", Verdict::kDegraded, [](Facts& f) { f.modules_readable = false; },
             "/lib/modules/6.12.9-amd64", "ProtectKernelModules=no", "sandbox"},
        Case{"ProcSubset", "sandbox", Verdict::kDegraded, [](Facts& f) { f.proc_sys_readable = false; },
             "/proc/sys/kernel", "ProcSubset=all", "sandbox"},
        Case{"FilterAlone", "sandbox", Verdict::kOk, [](Facts& f) { f.process.seccomp = 2; }, "filter is in force"}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Events, DoctorCase,
    testing::Values(
        Case{"CyclesForbidden", "pmu", Verdict::kUnknown,
             [](Facts& f) {
                 cycles(f).refusals = {{CpuId{0}, EACCES}, {CpuId{1}, EACCES}};
                 f.daemon.reset();
             },
             "cycles: Permission denied: whether there is a cycle counter is not for this user to find out"},
        Case{"CyclesForbiddenToUsAlone", "pmu", Verdict::kUnknown,
             [](Facts& f) { cycles(f).refusals = {{CpuId{0}, EACCES}, {CpuId{1}, EACCES}}; }, "; perfvigild has it"},
        Case{"CyclesForbiddenAndAbsent", "pmu", Verdict::kUnknown,
             [](Facts& f) {
                 cycles(f).refusals = {{CpuId{0}, EACCES}, {CpuId{1}, EACCES}};
                 f.daemon->degraded = {{"no_pmu", "x", "y"}};
             },
             "; perfvigild has none"},
        Case{"ClockForbiddenToUsAlone", "clock_event", Verdict::kUnknown,
             [](Facts& f) { clock_event(f).refusals = {{CpuId{0}, EACCES}, {CpuId{1}, EACCES}}; },
             "not for this user to try (Permission denied); perfvigild records it"},
        Case{"NotAskedFor", "pmu", Verdict::kUnknown, [](Facts& f) { f.probes.erase(f.probes.begin()); },
             "cycles is not among recording.events"},
        Case{"AskedForByItsOtherName", "pmu", Verdict::kOk, [](Facts& f) { cycles(f).event = "cpu-cycles:pp"; },
             "3.00 GHz"},
        Case{"ClockNotAskedFor", "clock_event", Verdict::kUnknown, [](Facts& f) { f.probes.pop_back(); },
             "cpu-clock is not among recording.events"},
        Case{"NotTried", "pmu", Verdict::kUnknown, [](Facts& f) { f.probes.clear(); }, "not tried"},
        Case{"NoPmu", "pmu", Verdict::kDegraded,
             [](Facts& f) {
                 cycles(f).refusals = {{CpuId{0}, ENOENT}, {CpuId{1}, ENOENT}};
                 cycles(f).trial.reset();
             },
             "No such file or directory", "pmu=on", "no_pmu"},
        Case{"CounterTakenOnOneCpu", "pmu", Verdict::kDegraded,
             [](Facts& f) { cycles(f).refusals = {{CpuId{1}, EBUSY}}; }, "CPUs 1 (Device or resource busy)",
             "another program", "event_missing"},
        Case{"CounterStandsStill", "pmu", Verdict::kDegraded, [](Facts& f) { cycles(f) = probe("cycles", 0, 0); },
             "counted 0 and gave 0 samples", "leave cycles out", "event_silent"},
        Case{"CounterWithoutInterrupts", "pmu", Verdict::kDegraded,
             [](Facts& f) { cycles(f) = probe("cycles", 300'000'000, 0); }, "gave 0 samples", "", "event_silent"},
        Case{"ClockForbidden", "clock_event", Verdict::kBroken,
             [](Facts& f) {
                 clock_event(f).refusals = {{CpuId{0}, EPERM}, {CpuId{1}, EPERM}};
                 clock_event(f).trial.reset();
                 f.daemon.reset();
             },
             "any CPU (Operation not permitted)", "allow it", "no_perf_events"},
        Case{"ClockSilent", "clock_event", Verdict::kBroken,
             [](Facts& f) { clock_event(f) = probe("cpu-clock", 0, 0); }, "0 of 100 samples", "another kernel",
             "clock_event_silent"},
        Case{"ClockLate", "clock_event", Verdict::kDegraded,
             [](Facts& f) { clock_event(f) = probe("cpu-clock", 100'000'000, 30); }, "30 of 100", "hypervisor",
             "clock_event_silent"},
        Case{"Hybrid", "hybrid", Verdict::kOk, [](Facts& f) { f.pmus = {{"cpu_atom", "8-15"}, {"cpu_core", "0-7"}}; },
             "2 kinds of cores: cpu_atom (CPUs 8-15), cpu_core (CPUs 0-7)"},
        Case{"NoSysNoKinds", "hybrid", Verdict::kUnknown, [](Facts& f) { f.sys_readable = false; }, "cannot be read"},
        Case{"NoSettingsNoWatchdog", "nmi_watchdog", Verdict::kUnknown,
             [](Facts& f) {
                 f.nmi_watchdog.reset();
                 f.proc_sys_readable = false;
             },
             "cannot be read"},
        Case{"NoWatchdog", "nmi_watchdog", Verdict::kOk, [](Facts& f) { f.nmi_watchdog.reset(); }, "off"},
        Case{"WatchdogOff", "nmi_watchdog", Verdict::kOk, [](Facts& f) { f.nmi_watchdog = 0; }, "off"},
        Case{"FaultyLine", "kernel_version", Verdict::kOk, [](Facts& f) { f.release = "6.17.3-arch1"; },
             "here the trial got its samples"},
        Case{"FaultyLineAndSilent", "kernel_version", Verdict::kBroken,
             [](Facts& f) {
                 f.release = "6.16.1";
                 clock_event(f) = probe("cpu-clock", 0, 0);
             },
             "got no samples", "update it", "clock_event_silent"},
        Case{"Old", "kernel_version", Verdict::kDegraded, [](Facts& f) { f.release = "5.15.0-91-generic"; },
             "before 6.0", "Linux 6.0", "no_lost_counts"},
        Case{"Ancient", "kernel_version", Verdict::kBroken, [](Facts& f) { f.release = "3.10.0-1160.el7"; }, "4.1",
             "newer", "old_kernel"},
        Case{"NewMajor", "kernel_version", Verdict::kOk, [](Facts& f) { f.release = "7.0.0"; }, "7.0.0"},
        Case{"LoweredRate", "sample_rate", Verdict::kDegraded,
             [](Facts& f) {
                 f.max_sample_rate = 500;
                 f.frequency = 999;
             },
             "999 Hz are asked for", "perf_event_max_sample_rate=1000", "rate_limited"},
        Case{"Costly", "sample_cost", Verdict::kDegraded, [](Facts& f) { f.frequency = 5000; }, "at most 12.00 %",
             "lower recording.frequency", "costly_samples"}),
    [](const auto& row) { return std::string(row.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Host, DoctorCase,
    testing::Values(
        Case{"NoSysNoTicks", "nohz_full", Verdict::kUnknown, [](Facts& f) { f.sys_readable = false; },
             "cannot be read"},
        Case{"NoSysNoIdleStates", "idle_wakeups", Verdict::kOk, [](Facts& f) { f.sys_readable = false; }, "not known"},
        Case{"Tickless", "nohz_full", Verdict::kDegraded, [](Facts& f) { f.nohz_full = "2-7"; },
             "CPUs 2-7 are tickless", "perfvigil record -e cycles", "nohz_full"},
        Case{"TicklessWithTheClockAlone", "nohz_full", Verdict::kOk,
             [](Facts& f) {
                 f.nohz_full = "2-7";
                 f.events = 1;
                 f.hardware_events = 0;
             },
             "nothing that is recorded turns their tick on"},
        Case{"TicklessWithoutTheClock", "nohz_full", Verdict::kDegraded,
             [](Facts& f) {
                 f.nohz_full = "2-7";
                 f.events = 1;
             },
             "turn the tick of all CPUs on", "add cpu-clock", "nohz_full"},
        Case{"Isolated", "nohz_full", Verdict::kOk, [](Facts& f) { f.isolated = "3"; }, "isolated: 3"},
        Case{"NoIdleStates", "idle_wakeups", Verdict::kOk, [](Facts& f) { f.idle_driver = ""; }, "no deep idle states"},
        Case{"SlowClock", "clock", Verdict::kDegraded, [](Facts& f) { f.clock_source = "hpet"; }, "slow", "dmesg",
             "slow_clock"},
        Case{"Unsynchronized", "clock", Verdict::kOk, [](Facts& f) { f.clock_synchronized = false; },
             "not synchronized"},
        Case{"ReadOnly", "disk", Verdict::kDegraded, [](Facts& f) { f.folders[0].trouble = "Read-only file system"; },
             "Read-only", "writable", "disk"},
        Case{"NotOursToWrite", "disk", Verdict::kUnknown,
             [](Facts& f) {
                 f.folders[0].trouble = "/v/p: Permission denied";
                 f.folders[0].denied = true;
             },
             "/v/p: Permission denied for this user; ask as root"},
        Case{"NotTheDaemonsToWrite", "disk", Verdict::kDegraded,
             [](Facts& f) {
                 f.folders[0].trouble = "/v/p: Permission denied";
                 f.folders[0].denied = true;
                 f.process.is_daemon = true;
             },
             "cannot be written: /v/p: Permission denied", "make /v/p writable for perfvigild", "disk"},
        Case{"Full", "disk", Verdict::kDegraded, [](Facts& f) { f.folders[0].free = 5U << 20U; }, "are free",
             "lower the limit of store.dir", "disk"},
        Case{"FullOfOurs", "disk", Verdict::kOk,
             [](Facts& f) {
                 f.folders[0].free = 5U << 20U;
                 f.folders[0].used = 1U << 30U;
             },
             "holds"},
        Case{"InMemory", "disk", Verdict::kDegraded, [](Facts& f) { f.folders[0].file_system = "tmpfs"; }, "in memory",
             "put store.dir on a disk", "disk"},
        Case{"NoDaemon", "daemon", Verdict::kUnknown,
             [](Facts& f) {
                 f.daemon.reset();
                 f.no_daemon = "no such socket";
             },
             "none answers: no such socket"},
        Case{"DegradedDaemon", "daemon", Verdict::kDegraded,
             [](Facts& f) { f.daemon->degraded = {{"store", "x", "y"}, {"listen", "x", "y"}}; }, "store, listen",
             "perfvigil status", "daemon_degraded"},
        Case{"Guessing", "kernel_unwinder", Verdict::kDegraded,
             [](Facts& f) { f.kernel_config = {{"CONFIG_UNWINDER_GUESS", "y"}}; }, "guesses", "ORC",
             "guessed_kernel_chains"},
        Case{"NoConfiguration", "kernel_unwinder", Verdict::kUnknown, [](Facts& f) { f.kernel_config.clear(); },
             "cannot be read"},
        Case{"Arm", "kernel_unwinder", Verdict::kOk,
             [](Facts& f) {
                 f.kernel_config.clear();
                 f.architecture = "aarch64";
             },
             "frame pointers"},
        Case{"ShortKernelChains", "kernel_unwinder", Verdict::kDegraded,
             [](Facts& f) { f.sampled->short_kernel_chains = 60; }, "60 of 100", "ORC", "short_kernel_chains"},
        Case{"NoFramePointers", "frame_pointers", Verdict::kDegraded,
             [](Facts& f) { f.sampled->broken = {{"libc.so.6", 90, 60}, {"app", 400, 1}, {"gcc", 100, 99}}; },
             "in gcc (99 of 100), libc.so.6 (60 of 90), as they do in code without frame pointers",
             "-fno-omit-frame-pointer", "broken_chains"},
        Case{"TooIdleToTell", "frame_pointers", Verdict::kUnknown, [](Facts& f) { f.sampled->samples = 3; }, "idle"},
        Case{"Stripped", "symbols", Verdict::kDegraded, [](Facts& f) { f.sampled->unnamed = {{"server", 100, 100}}; },
             "server (100 of 100)", "-dbgsym", "no_symbols"},
        Case{"Unread", "symbols", Verdict::kDegraded, [](Facts& f) { f.sampled->unread = {{"server", 100, 90}}; },
             "files that could not be read: server (90 of 100)", "CAP_SYS_PTRACE", "no_symbols"},
        Case{"StrippedAndUnread", "symbols", Verdict::kDegraded,
             [](Facts& f) {
                 f.sampled->unnamed = {{"app", 200, 200}};
                 f.sampled->unread = {{"server", 100, 90}};
             },
             "functions without names in app (200 of 200); files that could not be read: server (90 of 100)",
             "(Debian: the -dbgsym packages), docs/symbols.md says where they are looked for; files are opened",
             "no_symbols"},
        Case{"OnceInAWhile", "symbols", Verdict::kOk,
             [](Facts& f) {
                 f.sampled->samples = 5000;
                 f.sampled->unnamed = {{"cron", 40, 40}};
             },
             "has names"},
        Case{"Jit", "perf_maps", Verdict::kDegraded,
             [](Facts& f) {
                 f.sampled->anonymous = 200;
                 f.sampled->anonymous_comms = {"java", "node"};
             },
             "200 of 500 samples", "--perf-basic-prof", "no_perf_maps"},
        Case{"CannotSample", "symbols", Verdict::kUnknown,
             [](Facts& f) {
                 f.sampled.reset();
                 f.not_sampled = "the host cannot be sampled: x";
             },
             "cannot be sampled"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Doctor, SaysWhichKallsymsStockPerfNeeds) {
    Facts facts = healthy();
    EXPECT_THAT(of(examine(facts), "module_layout").evidence,
                HasSubstr("perfvigil kallsyms --stripped. None of 40 loaded modules is split."));
    facts.module_layout->layout = ModuleLayout::kUnknown;
    facts.module_layout->form = KallsymsForm::kFull;
    const auto unknown = examine(facts);
    EXPECT_EQ(of(unknown, "module_layout").verdict, Verdict::kUnknown);
    EXPECT_THAT(of(unknown, "module_layout").evidence, HasSubstr("perfvigil kallsyms --full."));
    facts.module_layout.reset();
    EXPECT_EQ(of(examine(facts), "module_layout").verdict, Verdict::kUnknown);
}

TEST(Doctor, TextHasALineEachAndJsonTheSame) {
    Facts facts = healthy();
    facts.clock_source = "hpet\x1b[31m";
    facts.paranoid = 3;
    drop(facts, Capability::kSysAdmin);
    facts.probes.clear();
    const auto findings = examine(facts);
    const auto text = findings_text(findings);
    EXPECT_THAT(text, HasSubstr("broken    paranoid        kernel.perf_event_paranoid is 3"));
    EXPECT_THAT(text, HasSubstr("→ sysctl kernel.perf_event_paranoid=2"));
    EXPECT_THAT(text, testing::Not(HasSubstr("\x1b")));
    const auto root = boost::json::parse(findings_json(findings)).as_object();
    EXPECT_EQ(root.at("verdict"), "broken");
    const auto& checks = root.at("checks").as_array();
    ASSERT_EQ(checks.size(), findings.size());
    EXPECT_EQ(checks[0].at("check"), "paranoid");
    EXPECT_EQ(checks[0].at("reason"), "paranoid");
    EXPECT_EQ(checks[0].at("verdict"), "broken");
}

TEST(Sysctl, OnlyWhatStandsInTheWayIsProposedWithWhatItOpens) {
    Facts facts = healthy();
    EXPECT_THAT(sysctl_changes(facts), IsEmpty());
    facts.paranoid = 4;
    facts.kptr_restrict = 2;
    facts.max_sample_rate = 50;
    const auto changes = sysctl_changes(facts);
    ASSERT_THAT(changes, SizeIs(3));
    EXPECT_EQ(changes[0].wanted, 2);
    EXPECT_EQ(changes[1].wanted, 1);
    EXPECT_EQ(changes[2].wanted, 1000);
    for (const auto& change : changes) {
        EXPECT_FALSE(change.why.empty());
        EXPECT_FALSE(change.opens.empty());
    }
}

TEST(Sysctl, IsWrittenWhereItIs) {
    const test::TempFolder folder;
    const auto file = folder.write("kernel/perf_event_paranoid", "4\n");
    const SysctlChange change{"kernel.perf_event_paranoid", 4, 2, "", ""};
    ASSERT_TRUE(set_sysctl(folder.path(), change));
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    EXPECT_EQ(line, "2");
    EXPECT_FALSE(set_sysctl(folder / "absent", change));
}

}  // namespace
}  // namespace perfvigil::analyzer::doctor
