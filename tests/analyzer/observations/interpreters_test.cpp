// SPDX-License-Identifier: GPL-2.0-or-later
// interpreted_code: names that are the interpreter's, not the script's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/observed.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::HasSubstr;

TEST(InterpretedCode, IsToldByBinaryAndLoop) {
    struct Case {
        std::string_view language;
        const char* binary;
        const char* loop;
        std::string_view remedy;
    };
    for (const auto& [language, binary, loop, remedy] : std::initializer_list<Case>{
             {"python", "/usr/bin/python3.11", "_PyEval_EvalFrameDefault", "-X perf"},
             {"python", "/usr/lib/libpython3.12.so.1.0", "_PyEval_EvalFrameDefault", "-X perf"},
             {"perl", "/usr/bin/perl", "Perl_runops_standard", "NYTProf"},
             {"ruby", "/usr/lib/libruby-3.1.so.3.1.2", "vm_exec", "rbspy"},
             {"php", "/usr/bin/php8.2", "execute_ex", "phpspy"},
             {"shell", "/usr/bin/bash", "execute_command_internal", "--by comm"},
             {"lua", "/usr/bin/lua5.4", "luaV_execute", "lua"},
             {"node", "/usr/bin/node", "Builtins_InterpreterEntryTrampoline", "--perf-basic-prof"},
             {"java", "/usr/lib/jvm/lib/server/libjvm.so", "JavaCalls::call_helper", "PreserveFramePointer"}}) {
        ObservedProfile p;
        p.rest(700).stack({user("helper", binary), user(loop, binary), user("main", binary)}, 300);
        const auto found = p.find("interpreted_code");
        ASSERT_EQ(found.id, "interpreted_code") << binary;
        EXPECT_EQ(found.severity, Severity::kNotice);
        EXPECT_THAT(found.evidence, HasSubstr("30 % of busy CPU time (3.030 s) is in or under the interpreter of " +
                                              std::string(language)));
        EXPECT_THAT(found.remedy, HasSubstr(remedy));
        EXPECT_DOUBLE_EQ(figure(found, "share", language), 0.3);
    }
}

TEST(InterpretedCode, LibrariesUnderTheLoopCountToo) {
    ObservedProfile p;
    const std::string python = "/usr/bin/python3";
    p.rest(900).stack({user("memcpy", "/lib/libc.so.6"), user("_PyEval_EvalFrameDefault", python)}, 100);
    EXPECT_EQ(p.find("interpreted_code").severity, Severity::kInfo);
}

TEST(InterpretedCode, OtherBinariesAndSmallSharesDoNotFire) {
    ObservedProfile p;
    p.rest(900).stack({user("_PyEval_EvalFrameDefault", "/usr/bin/pythonista")}, 100);
    EXPECT_FALSE(p.fires("interpreted_code"));
    p.stack({user("parse_file", "/usr/bin/python3")}, 300);
    EXPECT_FALSE(p.fires("interpreted_code")) << "no loop was seen";
    ObservedProfile few;
    few.rest(970).stack({user("_PyEval_EvalFrameDefault", "/usr/bin/python3")}, 30);
    EXPECT_FALSE(few.fires("interpreted_code"));
}

TEST(InterpretedCode, ScriptsWhoseFunctionsAreNamedAreNot) {
    ObservedProfile p;
    const std::string python = "/usr/bin/python3.12";
    p.rest(500).stack({user("_PyEval_EvalFrameDefault", python), user("py::work:/srv/app.py", "[jit]"),
                       user("_PyEval_EvalFrameDefault", python)},
                      500);
    EXPECT_FALSE(p.fires("interpreted_code"));
}

}  // namespace
}  // namespace perfvigil::analyzer
