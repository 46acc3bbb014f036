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

INSTANTIATE_TEST_SUITE_P(
    Cpp, DisplayName,
    testing::Values(Case{"_Z3foov", "foo"}, Case{"_ZN3foo3barEii", "foo::bar"},
                    Case{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back"},
                    Case{"_ZN3fooC2Ev", "foo::foo"}, Case{"_ZN3foo3barEi.cold", "foo::bar.cold"},
                    Case{"_ZN3foo3barEi.isra.0.part.3", "foo::bar.isra.0.part.3"},
                    Case{"_ZN3foo3barEi.llvm.1234567890", "foo::bar.llvm.1234567890"},
                    Case{"_ZN3foo3barEi.lto_priv.0@@V1", "foo::bar.lto_priv.0"},
                    Case{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"},
                    Case{"_ZN1AltERKS_", "A::operator<"}, Case{"_ZN1AlsIiEEvT_", "A::operator<< <int>"},
                    Case{"_ZNK1AptEv", "A::operator->"}, Case{"_ZN1AclEi", "A::operator()"},
                    Case{"_ZN1AcvbEv", "A::operator bool"}, Case{"_ZdlPv", "operator delete"},
                    Case{"_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo"},
                    Case{"_ZZN1f1gEvENKUliE0_clEi", "f::g()::{lambda(int)#2}::operator()"}));

INSTANTIATE_TEST_SUITE_P(
    Rust, DisplayName,
    testing::Values(
        // Legacy: the hash goes, only where it is one.
        Case{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
        Case{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.42", "core::fmt::Formatter::pad.llvm.42"},
        Case{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
             "<Test + 'static as foo::Bar<Test>>::bar"},
        Case{"_ZN3foo3bar4abcdE", "foo::bar::abcd"},
        Case{"_ZN3foo3bar17h0123456789abcdeE", "_ZN3foo3bar17h0123456789abcdeE"},  // 15 digits
        Case{"_ZN3foo3bar17h0123456789ABCDEFE", "foo::bar::h0123456789ABCDEF"},
        Case{"_ZN3foo3bar17x0123456789abcdefE", "foo::bar::x0123456789abcdef"},
        Case{"_ZN55_$LT$names..Adder$LT$u64$GT$$u20$as$u20$names..Work$GT$4work17hf637e0f2adb5e7c6E",
             "<names::Adder<u64> as names::Work>::work"},
        Case{"_ZN5names4main28_$u7b$$u7b$closure$u7d$$u7d$17hb09eba9712e53c82E", "names::main::{{closure}}"},
        // v0
        Case{"_RNvC6_123foo3bar", "123foo::bar"}, Case{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
        Case{"_RNvC6_123foo3bar.llvm.5", "123foo::bar.llvm.5"},
        Case{"_RINvCs4T4zK9Otvt5_5names11run_closureNCNvB2_4main0EB2_",
             "names::run_closure::<names::main::{closure#0}>"},
        Case{"_RINvCs4T4zK9Otvt5_5names12generic_workmEB2_", "names::generic_work::<u32>"},
        Case{"_RNvXCs4T4zK9Otvt5_5namesINtB2_5AdderyENtB2_4Work4work", "<names::Adder<u64> as names::Work>::work"}));

INSTANTIATE_TEST_SUITE_P(Go, DisplayName,
                         testing::Values(Case{"main.main.func1", "main.main.func1"},
                                         Case{"main.Map[go.shape.int]", "main.Map[go.shape.int]"},
                                         Case{"github.com/a/b.(*T).Run", "github.com/a/b.(*T).Run"},
                                         Case{"type:.eq.[2]string", "type:.eq.[2]string"},
                                         Case{"go:struct { F uintptr }", "go:struct { F uintptr }"}));

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

// What comes later gives the same as demangling at once.
TEST(LinkerForm, LeavesDemanglingForLater) {
    const std::string endless = "_Z" + std::string(kMaxMangledName, 'P');
    const auto stored = [](std::string_view name) {
        std::string text;
        append_name(name, NameForm::kLinker, text);
        return text;
    };
    EXPECT_EQ(stored("_ZN3foo3barEi.lto_priv.0@@V1"), "_ZN3foo3barEi.lto_priv.0");
    EXPECT_EQ(stored("memcpy@@GLIBC_2.14"), "memcpy");
    EXPECT_EQ(stored("a\x1b[2Jb"), "a\\x1b[2Jb");
    for (const std::string& name : {std::string("_ZN3foo3barEi.cold@V"), std::string("_RNvC6_123foo3bar"),
                                    std::string("_GLOBAL__sub_I_x"), std::string("_Z"), endless}) {
        EXPECT_TRUE(is_mangled(stored(name))) << name;
        EXPECT_EQ(display_name(stored(name)), display_name(name));
    }
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
