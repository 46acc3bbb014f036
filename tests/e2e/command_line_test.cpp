// SPDX-License-Identifier: GPL-2.0-or-later
// What the command line says to a newcomer's mistakes, and how its programs end.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "tests/support/client.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Ended {
    int status = -1;
    std::string output;  // of both kinds
};

class CommandLine : public testing::Test {
protected:
    // `words` as a shell takes them; "$2" is a file of folded stacks.
    Ended run(const std::string& words) {
        test::Client shell("/bin/sh",
                           {"-c", "{ \"$1\" " + words + "; } 2>&1; echo \"status $?\"", "sh", test::kPerfvigil, file_});
        Ended ended{.status = -1, .output = shell.output()};
        const auto mark = ended.output.rfind("status ");
        if (mark == std::string::npos) return ended;
        ended.status = parse_number<int>(trim(std::string_view(ended.output).substr(mark + 7))).value_or(-1);
        ended.output.resize(mark);
        return ended;
    }
    void refuses(const std::string& words, const std::string& sentence) {
        const auto ended = run(words);
        EXPECT_EQ(ended.status, 1) << words << '\n' << ended.output;
        EXPECT_THAT(ended.output, StartsWith("perfvigil: ")) << words;
        EXPECT_THAT(ended.output, HasSubstr(sentence)) << words;
    }

    test::TempFolder folder_;
    std::string file_ = folder_.write("folded", std::string("main;work 10\nmain;rest 5\n"));
};

TEST_F(CommandLine, UnknownWordsAreNamedWithWhatThereIs) {
    refuses("", "a command is missing: status, report, diff");
    refuses("frobnicate", "no command 'frobnicate'; there are status, report");
    refuses("reprot \"$2\"", "no command 'reprot'; did you mean report?");
    refuses("report --frob \"$2\"", "--frob");
    refuses("report --frob \"$2\"", "perfvigil report --help says what there is");
    refuses("export \"$2\" --to foo", "'foo' is none of pprof, folded, flamegraph.svg");
    refuses("report \"$2\" --top -1", "'-1' is no count");
    refuses("report \"$2\" --cpu 1-", "'1-' is no number, nor a range as 0-3");
    refuses("diff \"$2\" \"$2\" --by foo", "'foo' is none of function, total");
}

TEST_F(CommandLine, WhatCannotBeReadIsNamed) {
    for (const auto& [words, sentence] :
         {std::pair("report nosuch.data", "perfvigil: nosuch.data: No such file"),
          std::pair("report --socket /nonexistent nosuch", "perfvigil: nosuch is no file, and as a window: "),
          std::pair("report /proc/self", "a folder without a file 'data'"),
          std::pair("report \"$2\" --pid 1", "this is folded"), std::pair("report /dev/null", "it is empty")}) {
        const auto ended = run(words);
        EXPECT_EQ(ended.status, 2) << words << '\n' << ended.output;
        EXPECT_THAT(ended.output, HasSubstr(sentence)) << words;
    }
}

TEST_F(CommandLine, AFullDiskIsASentenceAndNoCrash) {
    for (const auto* command : {"report \"$2\"", "report --json \"$2\"", "report --html \"$2\"",
                                "export --to folded \"$2\"", "diff \"$2\" \"$2\"", "diff --json \"$2\" \"$2\""}) {
        const auto ended = run(std::string(command) + " > /dev/full");
        EXPECT_EQ(ended.status, 2) << command << '\n' << ended.output;
        EXPECT_THAT(ended.output, HasSubstr("No space left on device")) << command;
    }
    EXPECT_EQ(run("report \"$2\" > /dev/null").status, 0);
}

TEST_F(CommandLine, TextsHaveNoEscapesForTerminals) {
    const auto ended = run("report \"$2\" | cat");
    EXPECT_EQ(ended.output.find('\x1b'), std::string::npos);
    EXPECT_THAT(ended.output, StartsWith("perfvigil report folded\n  from an unknown host\n"));
}

}  // namespace
}  // namespace perfvigil
