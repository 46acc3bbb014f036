// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/chain_roots.hpp"

#include <gtest/gtest.h>

#include "tests/support/profile_maker.hpp"

namespace perfvigil::analyzer {
namespace {

using test::ProfileMaker;

TEST(ChainRoots, UserChainsReachMainOrAThreadsStart) {
    const auto profile = ProfileMaker()
                             .add("_start;__libc_start_main;main;work", 1)
                             .add("clone3;start_thread;worker;work", 2)
                             .add("[unknown];[unknown];main;work", 4)  // a stripped libc calls main
                             .add("helper;work", 8)
                             .add("main;a;b;c;d;e;main_helper", 16)
                             .add("a;b;c;d;main;x", 32)  // a main inside is no outer end
                             .build();
    const auto roots = chain_roots(profile, 0);
    EXPECT_TRUE(roots.recorded);
    EXPECT_EQ(roots.samples, 63U);
    EXPECT_EQ(roots.rooted, 1U + 2 + 4 + 16);
    EXPECT_TRUE(roots.mostly_unrooted());
}

TEST(ChainRoots, AStrippedCLibraryStartsProgramsAndThreads) {
    const auto profile = ProfileMaker()
                             .add("[unknown]@/lib/libc.so.6;app::entry;work", 1)
                             .add("[unknown]@/lib/libc.so.6;app::entry;work", 2, {}, kStackBroken)
                             .add("[unknown]@/lib/libc.so.6;memcpy@/lib/libc.so.6", 4)  // nothing outside it was called
                             .add("[unknown]@/lib/libc.so.6", 8)
                             .add("qsort@/lib/libc.so.6;compare", 16)  // has a name, and it is no start
                             .add("[unknown]@/lib/libother.so;work", 32)
                             .build();
    EXPECT_EQ(chain_roots(profile, 0).rooted, 1U);
}

TEST(ChainRoots, KernelChainsReachAnEntryOrAThreadsStart) {
    const auto profile =
        ProfileMaker()
            .add("ret_from_fork_asm@[kernel.kallsyms];kthread@[kernel.kallsyms];w@[kernel.kallsyms]", 1)
            .add("entry_SYSCALL_64_after_hwframe@[kernel.kallsyms];w@[kernel.kallsyms]", 2)
            .add("main@[kernel.kallsyms];w@[kernel.kallsyms]", 4)  // not the kernel's word
            .add("ret_from_fork;w", 8)                             // nor a program's
            .build();
    EXPECT_EQ(chain_roots(profile, 0).rooted, 3U);
}

TEST(ChainRoots, WhatBrokeOrWasCutIsNotRooted) {
    const auto profile = ProfileMaker()
                             .add("main;a", 1, {}, kStackBroken)
                             .add("main;b", 1, {}, kStackTruncated)
                             .add("main;c", 1, {}, kStackCut)
                             .add("main;d", 1, {}, kStackKernelLeaf)
                             .build();
    EXPECT_EQ(chain_roots(profile, 0).rooted, 1U);
}

TEST(ChainRoots, NothingToJudge) {
    const auto flat = chain_roots(ProfileMaker().add("a", 5).idle("x;y", 100).build(), 0);
    EXPECT_FALSE(flat.recorded);
    EXPECT_EQ(flat.samples, 5U);
    EXPECT_FALSE(flat.mostly_unrooted());
    EXPECT_FALSE(chain_roots({}, 0).mostly_unrooted());
}

TEST(ChainRoots, HalfIsEnough) {
    EXPECT_FALSE(chain_roots(ProfileMaker().add("main;a", 5).add("b;a", 5).build(), 0).mostly_unrooted());
    EXPECT_TRUE(chain_roots(ProfileMaker().add("main;a", 5).add("b;a", 6).build(), 0).mostly_unrooted());
}

}  // namespace
}  // namespace perfvigil::analyzer
