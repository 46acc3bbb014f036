// SPDX-License-Identifier: GPL-2.0-or-later
// Rules about code without a name and names that may be wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/observed.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::HasSubstr;

TestFrame nameless(std::string dso, UnknownReason reason, bool kernel = false) {
    return {"[unknown]", std::move(dso), kernel, reason};
}

TEST(UnknownSymbols, EachCauseHasItsRemedy) {
    struct Case {
        UnknownReason reason;
        std::string_view id;
        std::string_view remedy;
    };
    for (const auto& [reason, id, remedy] : std::initializer_list<Case>{
             {UnknownReason::kNoFile, "unknown_no_file", "--symfs"},
             {UnknownReason::kBuildIdMismatch, "unknown_build_id_mismatch", "build-id directory"},
             {UnknownReason::kNoSymbols, "unknown_stripped", "-dbgsym"},
             {UnknownReason::kOutsideSymbols, "unknown_outside_symbols", "-dbgsym"},
             {UnknownReason::kAnonymous, "unknown_anonymous", "/tmp/perf-PID.map"},
             {UnknownReason::kKernelHidden, "unknown_kernel_hidden", "kptr_restrict"},
             {UnknownReason::kUnreadable, "unknown_unreadable", "debug package"},
             {UnknownReason::kUnmapped, "unknown_unmapped", "side-band"}}) {
        ObservedProfile p;
        p.rest(800).stack({nameless("/usr/lib/libx.so", reason), user("main")}, 200);
        const auto found = p.find(id);
        EXPECT_EQ(found.severity, Severity::kNotice) << id;
        EXPECT_THAT(found.remedy, HasSubstr(remedy)) << id;
        EXPECT_THAT(found.evidence, HasSubstr("20 % of busy CPU time (2.020 s)")) << id;
        EXPECT_DOUBLE_EQ(figure(found, "share", "/usr/lib/libx.so"), 0.2) << id;
    }
}

TEST(UnknownSymbols, NameTheBinariesHeaviestFirst) {
    ObservedProfile p;
    p.rest(700);
    for (int i = 1; i <= 5; ++i) {
        p.stack({nameless("/opt/lib" + std::to_string(i) + ".so", UnknownReason::kNoSymbols)},
                static_cast<std::uint64_t>(20 * i));
    }
    EXPECT_THAT(p.find("unknown_stripped").evidence,
                HasSubstr("stripped code: lib5.so (10 %), lib4.so (8.0 %), lib3.so (6.0 %) and 2 more."));
}

TEST(UnknownSymbols, CallersWithoutNamesAndTracesDoNotFire) {
    ObservedProfile p;
    p.stack({user("f"), nameless("/usr/lib/libx.so", UnknownReason::kNoSymbols)}, 1000);
    EXPECT_FALSE(p.fires("unknown_stripped")) << "the sampled code has a name";
    p.stack({nameless("/usr/lib/libx.so", UnknownReason::kNoSymbols)}, 10);
    EXPECT_FALSE(p.fires("unknown_stripped"));
}

// --- module_symbols_at_risk, module_symbols_unverified

TEST(ModuleSymbols, AreAtRiskWhereTheTextIsSplit) {
    ObservedProfile p;
    p.rest(800).stack({{"nfsd_dispatch", "[nfsd]"}}, 200).setting("module_sections", "read");
    EXPECT_FALSE(p.fires("module_symbols_at_risk"));
    p.setting("split_text.nfsd", "57").setting("split_text.other", "99");
    const auto found = p.find("module_symbols_at_risk");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("nfsd (57 text sections, 20 %)."));
    EXPECT_THAT(found.meaning, HasSubstr("may be those of other functions"));
    p.profile.host.recorder = "perfvigil 0.1.0";
    EXPECT_THAT(p.find("module_symbols_at_risk").meaning, HasSubstr("by runtime address and right"));
}

TEST(ModuleSymbols, OfALayoutNobodyRecordedAreUnverified) {
    ObservedProfile p;
    p.rest(800).stack({{"ext4_file_write_iter", "/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz"}}, 200);
    const auto found = p.find("module_symbols_unverified");
    EXPECT_EQ(found.severity, Severity::kInfo);
    EXPECT_THAT(found.evidence, HasSubstr("ext4 (20 %)"));
    p.setting("module_sections", "read");
    EXPECT_FALSE(p.fires("module_symbols_unverified")) << "the layout is known, and ordinary";
}

TEST(ModuleSymbols, CodeBehindEverySymbolIsAGap) {
    ObservedProfile p;
    const auto gap = [](std::string dso) {
        return TestFrame{"[unknown]", std::move(dso), true, UnknownReason::kOutsideSymbols};
    };
    p.rest(800).stack({gap("[kernel.kallsyms]")}, 100);
    EXPECT_FALSE(p.fires("module_symbol_gaps"));
    p.stack({gap("[nfsd]")}, 80).stack({gap("/lib/modules/6.1/ext4.ko")}, 20);
    const auto found = p.find("module_symbol_gaps");
    EXPECT_EQ(found.severity, Severity::kNotice);
    EXPECT_THAT(found.evidence, HasSubstr("nfsd (8.0 %)"));
    EXPECT_THAT(found.evidence, HasSubstr("ext4 (2.0 %)"));
    EXPECT_NEAR(figure(found, "share"), 0.1, 1e-9);
    EXPECT_EQ(figure(found, "samples", "nfsd"), 80);
}

TEST(ModuleSymbols, InlinedCallsOfModulesAreAtRisk) {
    ObservedProfile p;
    p.rest(800).stack({{"inlined", "[nfsd]"}, {"nfsd_dispatch", "[nfsd]"}}, 200);
    EXPECT_FALSE(p.fires("module_inlines_at_risk"));
    p.setting("module_inlines.nfsd", "200");
    const auto found = p.find("module_inlines_at_risk");
    EXPECT_EQ(found.severity, Severity::kInfo);
    EXPECT_EQ(figure(found, "inlined_frames"), 200);
    EXPECT_THAT(found.evidence, HasSubstr("nfsd (200)"));
}

TEST(ModuleSymbols, TheKernelItselfAndUserFilesAreNoModules) {
    ObservedProfile p;
    p.stack({{"vfs_read", "[kernel.kallsyms]"}}, 300)
        .stack({{"vfs_read", "[kernel.vmlinux]"}}, 100)
        .stack({{"bpf_prog_1", "[bpf]"}}, 300)
        .stack({user("f", "/tmp/x.ko")}, 300)
        .stack({user("g", "[vdso]")}, 300);
    EXPECT_FALSE(p.fires("module_symbols_unverified"));
}

}  // namespace
}  // namespace perfvigil::analyzer
