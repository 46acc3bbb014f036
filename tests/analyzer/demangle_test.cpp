// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/demangle.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace perfvigil::analyzer {
namespace {

struct Case {
    const char* linker_name;
    const char* shown;
};

class DisplayName : public testing::TestWithParam<Case> {};

TEST_P(DisplayName, IsWhatTheAuthorWrote) { EXPECT_EQ(display_name(GetParam().linker_name), GetParam().shown); }

INSTANTIATE_TEST_SUITE_P(Plain, DisplayName,
                         testing::Values(Case{"main", "main"}, Case{"_start", "_start"},
                                         Case{"__libc_start_main", "__libc_start_main"},
                                         Case{"main.(*T).Run", "main.(*T).Run"}, Case{"foo.isra.0", "foo.isra.0"},
                                         Case{"memcpy@@GLIBC_2.14", "memcpy"}, Case{"old@VERS_1", "old"},
                                         Case{"@", "@"}, Case{"_Z", "_Z"}, Case{"_Zero", "_Zero"}));

INSTANTIATE_TEST_SUITE_P(Cpp, DisplayName,
                         testing::Values(Case{"_Z3foov", "foo"}, Case{"_ZN3foo3barEii", "foo::bar"},
                                         Case{"_ZNSt6vectorIiSaIiEE9push_backEOi",
                                              "std::vector<int, std::allocator<int> >::push_back"},
                                         Case{"_ZN3fooC2Ev", "foo::foo"}, Case{"_ZN3foo3barEi.cold", "foo::bar.cold"},
                                         Case{"_ZN3foo3barEi.isra.0.part.3", "foo::bar.isra.0.part.3"},
                                         Case{"_ZN3foo3barEi.llvm.1234567890", "foo::bar.llvm.1234567890"},
                                         Case{"_ZN3foo3barEi.lto_priv.0@@V1", "foo::bar.lto_priv.0"},
                                         Case{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"}));

INSTANTIATE_TEST_SUITE_P(
    Rust, DisplayName,
    testing::Values(
        // Legacy: the hash goes, only where it is one.
        Case{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
        Case{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.42", "core::fmt::Formatter::pad.llvm.42"},
        Case{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
             "<Test + 'static as foo::Bar<Test>>::bar"},
        Case{"_ZN3foo3bar4abcdE", "foo::bar::abcd"},
        // v0
        Case{"_RNvC6_123foo3bar", "123foo::bar"}, Case{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
        Case{"_RNvC6_123foo3bar.llvm.5", "123foo::bar.llvm.5"}));

TEST(DisplayName, HasNoBytesThatSteerATerminal) {
    EXPECT_EQ(display_name("a\x1b[2Jb"), "a\\x1b[2Jb");
    EXPECT_EQ(display_name("caf\xc3\xa9"), "caf\xc3\xa9");
    EXPECT_EQ(display_name("bad\xff"), "bad\\xff");
}

TEST(DisplayName, OfEndlessInputIsBounded) {
    const std::string plain(100'000, 'a');
    EXPECT_EQ(display_name(plain).size(), kMaxDemangledName);
    EXPECT_EQ(display_name(plain).back(), '~');

    // Each template argument stands for two of the one before it: written out, 30 of them are 10 GB.
    std::string bomb = "_Z1fI1pIiiE";
    constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (std::size_t i = 1; i <= 30; ++i) {
        bomb += std::string("S0_IS") + kDigits[i] + "_S" + kDigits[i] + "_E";
    }
    bomb += "Evv";
    const auto shown = display_name(bomb);
    EXPECT_EQ(shown.substr(0, 50), "f<p<int, int>, p<p<int, int>, p<int, int> >, p<p<p");
    EXPECT_EQ(shown.size(), kMaxDemangledName);
    EXPECT_EQ(shown.back(), '~');
}

TEST(DisplayName, SurvivesDeepNesting) {
    std::string deep = "_Z1fI";
    for (int i = 0; i < 8000; ++i) deep += "1aI";
    EXPECT_LE(display_name(deep).size(), kMaxDemangledName);
    EXPECT_LE(display_name("_RNvC" + std::string(8000, 'B')).size(), kMaxDemangledName);
    EXPECT_EQ(display_name("_Z" + std::string(kMaxMangledName, 'P')).size(), kMaxDemangledName);
}

}  // namespace
}  // namespace perfvigil::analyzer
