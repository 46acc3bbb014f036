// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/redaction.hpp"

#include <gtest/gtest.h>

namespace perfvigil::analyzer {
namespace {

TEST(RedactionTest, DsosLoseTheirFolders) {
    EXPECT_EQ(redacted_dso("/srv/u/bin/tool"), "tool");
    EXPECT_EQ(redacted_dso("/srv/my files/tool (deleted)"), "tool (deleted)");
    for (const auto* own : {"[kernel.kallsyms]", "[vdso]", "//anon", "[jit]", "(excluded)", "tool", ""}) {
        EXPECT_EQ(redacted_dso(own), own);
    }
}

TEST(RedactionTest, FilesInNamesLoseTheirFolders) {
    EXPECT_EQ(redacted_name("JS:*hot /srv/u/app/index.js:3:9"), "JS:*hot index.js:3:9");
    EXPECT_EQ(redacted_name("JS:~f file:///srv/my app/lib/a.js:1"), "JS:~f file:a.js:1");
    EXPECT_EQ(redacted_name("LazyCompile:~g /srv/my app/a.js:1"), "LazyCompile:~g a.js:1");
    EXPECT_EQ(redacted_name("py::f:/srv/u/a.py"), "py::f:a.py");
    EXPECT_EQ(redacted_name("main::{lambda at /srv/u/a.cpp:3}::operator()() const"),
              "main::{lambda at a.cpp:3}::operator()() const");
    EXPECT_EQ(redacted_name("/srv/u/secret"), "secret");
}

TEST(RedactionTest, OtherSlashesStay) {
    for (const auto* name :
         {"operator/(V const&, V const&)", "V::operator/=(double)", "operator/ (a)", "github.com/x/y.(*T).Run",
          "Ljava/util/HashMap;::get", "net/http.HandlerFunc.ServeHTTP", "a / b", "x/", "/", "", "f"}) {
        EXPECT_EQ(redacted_name(name), name);
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
