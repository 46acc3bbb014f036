// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/hotspot_identity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace perfvigil::daemon {
namespace {

std::size_t backslashes(std::string_view text) { return static_cast<std::size_t>(std::ranges::count(text, '\\')); }

struct Case {
    std::string given;
    std::string expected;
};

TEST(HotspotIdentity, FunctionsLoseTemplateArguments) {
    const std::vector<Case> cases{
        {"memcpy", "memcpy"},
        {"_raw_spin_unlock_irqrestore", "_raw_spin_unlock_irqrestore"},
        {"std::vector<int>::push_back(int const&)", "std::vector<>::push_back(int const&)"},
        {"std::map<std::string, std::vector<int> >::operator[](std::string const&)",
         "std::map<>::operator[](std::string const&)"},
        {"void f<int, (a)3>(std::pair<int, char>)", "void f<>(std::pair<>)"},
        {"foo(std::vector<int>)", "foo(std::vector<>)"},
        {"foo(double)", "foo(double)"},
        // Comparisons and shifts inside arguments.
        {"f<(a > b)>(int)", "f<>(int)"},
        {"f<(a < b)>(int)", "f<>(int)"},
        {"f<((x) << 3), (y >> 2)>(int)", "f<>(int)"},
        {"f<(a <= b), (c >= d)>::g", "f<>::g"},
        {"f<decltype (p->q)>::g", "f<>::g"},
        {"f<&X::operator> >::g", "f<>::g"},
        {"f<&X::operator<< <int> >::g", "f<>::g"},
        {"f<std::function<void (int)> >::g", "f<>::g"},
        {"f<char [10]>::g", "f<>::g"},
        {"f<A>::g<B>::h<C<D<E> > >", "f<>::g<>::h<>"},
        // Lambdas keep their signature, which tells two of one function apart.
        {"f()::{lambda(std::vector<int>)#1}::operator()(std::vector<int>) const",
         "f()::{lambda(std::vector<>)#1}::operator()(std::vector<>) const"},
        {"f<main::{lambda(int)#2}>::g", "f<>::g"},
        {"f()::<lambda(int)>", "f()::<lambda(int)>"},
        {"<lambda(std::set<int>)>", "<lambda(std::set<>)>"},
        {"operator new(unsigned long)", "operator new(unsigned long)"},
        {"A::operator std::vector<int>() const", "A::operator std::vector<>() const"},
        {"my_operator<int>", "my_operator<>"},
        // Other languages.
        {"Foo::<init>", "Foo::<init>"},
        {"<T as core::fmt::Display>::fmt", "<T as core::fmt::Display>::fmt"},
        {"<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec<> as core::ops::Drop>::drop"},
        {"core::fmt::num::<impl core::fmt::Display for Foo<u8>>::fmt",
         "core::fmt::num::<impl core::fmt::Display for Foo<>>::fmt"},
        {"core::iter::map::<u8, fn(u8) -> u8>::next", "core::iter::map::<>::next"},
        {"core::ptr::drop_in_place<alloc::boxed::Box<dyn Fn() -> u8>>", "core::ptr::drop_in_place<>"},
        {"core[846817f741e54dfd]::slice::sort::<u8>", "core::slice::sort::<>"},
        {"main.Map[go.shape.int,go.shape.[]uint8].Get", "main.Map[].Get"},
        {"main.(*Server).Serve.func1.2", "main.(*Server).Serve.func1.2"},
        {"std::string::copy[abi:cxx11](char*)", "std::string::copy[abi:cxx11](char*)"},
        {"LazyCompile:*foo /app/index.js:12", "LazyCompile:*foo /app/index.js:12"},
    };
    for (const auto& [given, expected] : cases) EXPECT_EQ(function_identity(given), expected) << given;
}

TEST(HotspotIdentity, OperatorsAreNotBrackets) {
    for (const std::string symbol : {"<", "<<", "<=", "<<=", "<=>", ">", ">>", ">=", ">>=", "->", "->*", "()", "[]"}) {
        const std::string plain = "A::operator" + symbol + "(A const&, B const&)";
        EXPECT_EQ(function_identity(plain), plain);
        const std::string space = symbol == "<" || symbol == "<<" ? " " : "";
        EXPECT_EQ(function_identity("A::operator" + symbol + space + "<int, B<C> >(B<C>)"),
                  "A::operator" + symbol + "<>(B<>)");
    }
}

TEST(HotspotIdentity, FunctionsLoseCloneSuffixesHashesAndAddresses) {
    const std::vector<Case> cases{
        {"do_work.isra.0", "do_work"},
        {"do_work.constprop.0.isra.12", "do_work"},
        {"do_work.part.3.cold", "do_work"},
        {"do_work.cold.17", "do_work"},
        {"do_work.llvm.14285091436510394871", "do_work"},
        {"do_work.lto_priv.0", "do_work"},
        {"do_work.__uniq.1234567", "do_work"},
        {"do_work(int) [clone .isra.0] [clone .cold]", "do_work(int)"},
        {"do_work(int) (.llvm.1234)", "do_work(int)"},
        {"do_work(int) (.something)", "do_work(int) (.something)"},
        {"f<int>(int) [clone .part.0]", "f<>(int)"},
        {"alloc::vec::Vec<T>::push::h0123456789abcdef", "alloc::vec::Vec<>::push"},
        {"a::b::h0123456789abcdeg", "a::b::h0123456789abcdeg"},
        {"foo.0", "foo.0"},
        {".cold", ".cold"},
        {"a.cold.b", "a.cold.b"},
        {"f._omp_fn.3", "f._omp_fn.3"},
        {"_ZN4core3fmt17h0123456789abcdefE", "_ZN4core3fmt17h*E"},
        {"Lambda/0x0000000800c8a840.run", "Lambda/0x*.run"},
        {"f_0x1", "f_0x1"},
        {"0x", "0x"},
    };
    for (const auto& [given, expected] : cases) EXPECT_EQ(function_identity(given), expected) << given;
}

TEST(HotspotIdentity, Binaries) {
    const std::vector<Case> cases{
        {"/usr/lib/x86_64-linux-gnu/libc.so.6", "libc.so.6"},
        {"/usr/bin/nginx (deleted)", "nginx"},
        {"[kernel.kallsyms]", "[kernel.kallsyms]"},
        {"[nfsd]", "[nfsd]"},
        {"[vdso]", "[vdso]"},
        {"//anon", "[jit]"},
        {"[anon:js]", "[jit]"},
        {"/tmp/perf-1234.map", "[jit]"},
        {"/tmp/jitted-12-3.so", "[jit]"},
        {"/memfd:doublemapper (deleted)", "[jit]"},
        {"/dev/zero (deleted)", "[jit]"},
        {"/srv/perf-tools.map", "perf-tools.map"},
        {"/target/debug/deps/app-0123456789abcdef", "app-*"},
        {"/tmp/libnative-12345678901234567.so", "libnative-*.so"},
        {"/usr/lib/libabsl_base.so.20220623.0.0", "libabsl_base.so.20220623.0.0"},
        {"", "[unknown]"},
        {"/", "[unknown]"},
        // A file cannot pass for the kernel or for our own rows.
        {"/tmp/[kernel.kallsyms]", "\\[kernel.kallsyms]"},
        {"/tmp/(other)", "\\(other)"},
        {"(other)", "\\(other)"},
    };
    for (const auto& [given, expected] : cases) EXPECT_EQ(dso_identity(given), expected) << given;
}

TEST(HotspotIdentity, Units) {
    const std::string hex64(64, 'a');
    const std::vector<Case> cases{
        {"nginx.service", "nginx.service"},
        {"postgresql-15.service", "postgresql-15.service"},
        {"user@1000.service", "user@.service"},
        {"getty@tty1.service", "getty@.service"},
        {"app-org.kde.konsole@abc.service", "app-org.kde.konsole@.service"},
        {"session-12.scope", "session-*.scope"},
        {"user-1000.slice", "user-*.slice"},
        {"run-r0123456789abcdef0123456789abcdef.service", "run-*.service"},
        {"run-u12.service", "run-*.service"},
        {"run-p3419-i3420.scope", "run-*.scope"},
        {"docker-4" + hex64.substr(1) + ".scope", "docker-*.scope"},
        {"cri-containerd-4" + hex64.substr(1) + ".scope", "cri-containerd-*.scope"},
        {"app-gnome-firefox-12345.scope", "app-gnome-firefox-*.scope"},
        {"vte-spawn-01234567-89ab-cdef-0123-456789abcdef.scope", "vte-spawn-*.scope"},
        {"kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice", "kubepods-burstable-pod*.slice"},
        {"machine-qemu\\x2d1\\x2dweb.scope", "machine-qemu-*-web.scope"},
        {"system-getty.slice", "system-getty.slice"},
        {"no_suffix", "no_suffix"},
        {"", "(none)"},
        {"(none)", "\\(none)"},
        {"(other)", "\\(other)"},
    };
    for (const auto& [given, expected] : cases) EXPECT_EQ(unit_identity(given), expected) << given;
}

TEST(HotspotIdentity, HostileNamesAreEscaped) {
    const std::vector<Case> cases{
        {"a\nb", "a\\x0ab"},
        {"a\"b", "a\"b"},  // the exposition's own escape, not ours
        {"a\\b", "a\\\\b"},
        {"a\xff\xfe", "a\\xff\\xfe"},
        {std::string("a\0b", 3), "a\\x00b"},
        {"\x1b[31mred", "\\x1b[31mred"},
        {"grüße", "grüße"},
        {"(other)", "\\(other)"},
        {"(excluded)", "\\(excluded)"},
        {"", "[unknown]"},
        {"f<", "f<>"},
        {"f<int", "f<>"},
        {"f>", "f>"},
        {"<", "<"},
        {">", ">"},
        {"f<(>)]", "f<>"},
        {"operator", "operator"},
        {"operator<", "operator<"},
        {" [clone .x]", " [clone .x]"},
    };
    for (const auto& [given, expected] : cases) EXPECT_EQ(function_identity(given), expected) << given;
}

TEST(HotspotIdentity, LongNamesAreCutBetweenCharactersAndStayApart) {
    EXPECT_EQ(bounded_identity(std::string(200, 'x')), std::string(200, 'x'));
    const std::string cut = bounded_identity(std::string(201, 'x'));
    EXPECT_EQ(cut.substr(0, 181), std::string(180, 'x') + "~");
    EXPECT_EQ(cut.size(), 189U);
    EXPECT_EQ(cut, bounded_identity(std::string(201, 'x'))) << "the same on every host";
    EXPECT_NE(cut, bounded_identity(std::string(202, 'x')));

    // 179 bytes, then a character of 3 and an escape of 4: neither is torn.
    EXPECT_EQ(bounded_identity(std::string(179, 'x') + "€" + std::string(100, 'y')).substr(0, 180),
              std::string(179, 'x') + "~");
    EXPECT_EQ(bounded_identity(std::string(178, 'x') + "\xff" + std::string(100, 'y')).substr(0, 179),
              std::string(178, 'x') + "~");
    EXPECT_EQ(bounded_identity(std::string(179, 'x') + "\\" + std::string(100, 'y')).substr(0, 180),
              std::string(179, 'x') + "~");
    EXPECT_LE(dso_identity("/tmp/[" + std::string(199, 'x')).size(), kMaxIdentityBytes);
}

// Names an attacker may put into a binary: bounded in time and size, whatever they hold.
TEST(HotspotIdentity, TenKilobytesOfAnything) {
    std::set<std::string> seen;
    for (const std::string piece : {"<",
                                    ">",
                                    "(",
                                    "f<",
                                    "f<(",
                                    "a[",
                                    "[",
                                    "]",
                                    ")",
                                    "operator<",
                                    " [clone .a]",
                                    ".cold",
                                    "::h",
                                    "0x",
                                    "a",
                                    "\xff",
                                    "\n",
                                    "<<",
                                    "->",
                                    "f<int>::",
                                    "{lambda(",
                                    " < ",
                                    "f<f<f<",
                                    "\\",
                                    "€",
                                    "-",
                                    "*-",
                                    "a-1",
                                    "0123456789abcdef"}) {
        std::string name;
        while (name.size() < 10240) name += piece;
        const auto start = std::chrono::steady_clock::now();
        for (const std::string& identity : {function_identity(name), dso_identity(name), unit_identity(name)}) {
            EXPECT_LE(identity.size(), kMaxIdentityBytes) << piece;
            EXPECT_FALSE(identity.empty()) << piece;
            for (const char c : identity) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << piece;
            EXPECT_EQ(escape(identity).size(), identity.size() + backslashes(identity)) << "not UTF-8: " << piece;
        }
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2)) << piece;
    }
}

TEST(HotspotIdentity, OnePassIsEnough) {
    // Identities that feed back (a name from a rule file, say) do not change further.
    for (const std::string name :
         {"std::vector<int>::push_back(int const&)", "<T as X<Y>>::f", "A::operator<<<int>(B)"}) {
        const std::string once = function_identity(name);
        EXPECT_EQ(function_identity(once), once);
    }
    for (const std::string unit : {"docker-0123456789abcdef.scope", "user@1.service", "run-u1.service"}) {
        EXPECT_EQ(unit_identity(unit_identity(unit)), unit_identity(unit));
    }
}

// What excluded tasks count as is ours; a file of that name is not.
TEST(HotspotIdentity, TheExcludedAreNobodyElse) {
    EXPECT_EQ(dso_identity("(excluded)"), "(excluded)");
    EXPECT_EQ(unit_identity("(excluded)"), "(excluded)");
    EXPECT_EQ(dso_identity("/tmp/(excluded)"), "\\(excluded)");
    EXPECT_EQ(unit_identity("(excluded).service"), "(excluded).service");
}

}  // namespace
}  // namespace perfvigil::daemon
