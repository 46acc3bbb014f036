// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/function_name.hpp"

#include <gtest/gtest.h>

#include <string>

namespace perfvigil::analyzer {
namespace {

struct Case {
    const char* name;
    const char* group;
};

class FunctionGroup : public testing::TestWithParam<Case> {};

TEST_P(FunctionGroup, IsTheFunctionThatSomebodyWrote) { EXPECT_EQ(function_group(GetParam().name), GetParam().group); }

INSTANTIATE_TEST_SUITE_P(
    Clones, FunctionGroup,
    testing::Values(Case{"finish_task_switch.isra.0", "finish_task_switch"}, Case{"f.constprop.0.isra.12", "f"},
                    Case{"f.part.3.cold", "f"}, Case{"f.cold", "f"}, Case{"f.cold.17", "f"},
                    Case{"f.llvm.14285091436510394871", "f"}, Case{"f.lto_priv.0.lto_priv.1", "f"},
                    Case{"f.lto_priv.0.cold", "f"}, Case{"f.__uniq.1234567.llvm.8", "f"}, Case{"f.localalias", "f"},
                    Case{"f(int) [clone .isra.0] [clone .cold]", "f(int)"}, Case{"f(int) (.llvm.1234)", "f(int)"},
                    Case{"foo::bar.constprop.1", "foo::bar"}, Case{"operator delete.cold", "operator delete"},
                    Case{"main::{lambda()#1}::operator().isra.0", "main::{lambda()#1}::operator()"}));

INSTANTIATE_TEST_SUITE_P(
    Rust, FunctionGroup,
    testing::Values(Case{"alloc::vec::Vec<T>::push::h0123456789abcdef", "alloc::vec::Vec<T>::push"},
                    Case{"core::fmt::Formatter::pad.llvm.42", "core::fmt::Formatter::pad"},
                    Case{"a::b::h0123456789abcdef.cold", "a::b"},
                    Case{"a::b::h0123456789abcde", "a::b::h0123456789abcde"},
                    Case{"a::b::h0123456789ABCDEF", "a::b::h0123456789ABCDEF"},
                    Case{"names::main::{closure#0}", "names::main::{closure#0}"},
                    Case{"<names::Adder<u64> as names::Work>::work", "<names::Adder<u64> as names::Work>::work"}));

// What has a dot or a number and is no clone.
INSTANTIATE_TEST_SUITE_P(
    Others, FunctionGroup,
    testing::Values(
        Case{"main.(*T).Run", "main.(*T).Run"}, Case{"main.main.func1", "main.main.func1"},
        Case{"main.(*T).Run.func2.1", "main.(*T).Run.func2.1"}, Case{"runtime.goexit.abi0", "runtime.goexit.abi0"},
        Case{"sync.(*Map).Range-fm", "sync.(*Map).Range-fm"}, Case{"Lcom/foo/Bar;::method", "Lcom/foo/Bar;::method"},
        Case{"com.foo.Bar::a->com.foo.Baz::b", "com.foo.Bar::a->com.foo.Baz::b"},
        Case{"void com.foo.Bar.part(int)", "void com.foo.Bar.part(int)"}, Case{"app.part", "app.part"},
        Case{"foo.0", "foo.0"}, Case{"f._omp_fn.3", "f._omp_fn.3"}, Case{"a.cold.b", "a.cold.b"},
        Case{"coldest", "coldest"}, Case{"f.cold.1x", "f.cold.1x"}, Case{"f(int) (.something)", "f(int) (.something)"},
        Case{".cold", ".cold"}, Case{".isra.0", ".isra.0"}, Case{"", ""}, Case{".", "."}, Case{".0", ".0"},
        Case{"[unknown]", "[unknown]"},
        Case{"LazyCompile:*app.hot /srv/app.js:10:3", "LazyCompile:*app.hot /srv/app.js:10:3"}));

}  // namespace
}  // namespace perfvigil::analyzer
