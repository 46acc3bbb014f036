// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/debuginfod.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/fd.hpp"
#include "tests/support/elf_image.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using test::build_id_of;
using Kind = Debuginfod::Kind;

// debuginfod-find is played by shell scripts.
class DebuginfodTest : public testing::Test {
protected:
    DebuginfodOptions options(const std::string& script) {
        const auto program = folder_.write("find", "#!/bin/sh\n" + script + "\n");
        std::filesystem::permissions(program, std::filesystem::perms::owner_all);
        DebuginfodOptions made;
        made.urls = {"http://127.0.0.1:1", "http://127.0.0.1:2"};
        made.program = program;
        made.cache = folder_ / "cache";
        made.wait = std::chrono::seconds(20);
        return made;
    }
    std::string elf(const char* build_id) {
        test::ElfImageSpec spec;
        spec.build_id = build_id_of(build_id);
        return folder_.write(std::string("store/") + build_id, Bytes(test::make_elf(spec)));
    }

    test::TempFolder folder_;
    test::ManualClock clock_;
};

TEST_F(DebuginfodTest, AsksNobodyWithoutServers) {
    auto asked = options("touch " + (folder_ / "asked"));
    asked.urls.clear();
    Debuginfod client(asked, clock_);
    EXPECT_FALSE(client.enabled());
    EXPECT_EQ(client.get(Kind::kDebugFile, build_id_of("aabb")).error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "asked"));
    EXPECT_EQ(client.counters().asked, 0U);
}

TEST_F(DebuginfodTest, BringsTheFileOfTheBuildIdAndNoOther) {
    const auto right = elf("aabb");
    Debuginfod client(options("case $1.$2 in debuginfo.aabb|executable.ccdd) echo " + right + " ;; *) exit 1 ;; esac"),
                      clock_);
    const auto file = client.get(Kind::kDebugFile, build_id_of("aabb"));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ((*file)->build_id.hex(), "aabb");
    // A server that sends another file is not believed.
    EXPECT_EQ(client.get(Kind::kExecutable, build_id_of("ccdd")).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(client.get(Kind::kExecutable, build_id_of("aabb")).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(client.counters().asked, 3U);
    // Answers are remembered, that there is none for a while.
    EXPECT_TRUE(client.get(Kind::kDebugFile, build_id_of("aabb")));
    EXPECT_FALSE(client.get(Kind::kExecutable, build_id_of("aabb")));
    EXPECT_EQ(client.counters().asked, 3U);
    clock_.advance(std::chrono::hours(2));
    EXPECT_FALSE(client.get(Kind::kExecutable, build_id_of("aabb")));
    EXPECT_EQ(client.counters().asked, 4U);
}

TEST_F(DebuginfodTest, GivesItsChildTheServersAndNoRights) {
    ::setenv("DEBUGINFOD_URLS", "http://of.the.environment", 1);
    const auto seen = folder_ / "seen";
    Debuginfod client(options("{ echo $DEBUGINFOD_URLS; echo $DEBUGINFOD_CACHE_PATH; grep -e CapEff -e NoNewPrivs "
                              "/proc/self/status; ls /proc/self/fd | wc -l; } > " +
                              seen + "; exit 1"),
                      clock_);
    (void)client.get(Kind::kDebugFile, build_id_of("aabb"));
    ::unsetenv("DEBUGINFOD_URLS");
    const auto text = read_file(seen);
    ASSERT_TRUE(text);
    EXPECT_NE(text->find("http://127.0.0.1:1 http://127.0.0.1:2\n" + (folder_ / "cache") + '\n'), std::string::npos)
        << *text;
    EXPECT_NE(text->find("CapEff:\t0000000000000000"), std::string::npos) << *text;
    EXPECT_NE(text->find("NoNewPrivs:\t1"), std::string::npos) << *text;
}

TEST_F(DebuginfodTest, DoesNotWaitWhereItMayNot) {
    const auto right = elf("aabb");
    const auto gate = folder_ / "gate";
    ASSERT_EQ(::mkfifo(gate.c_str(), 0600), 0);
    auto slow = options("read line < " + gate + "; echo " + right);
    slow.wait = std::chrono::milliseconds(0);
    Debuginfod client(slow, clock_);
    for (int i = 0; i < 3; ++i) {
        const auto answer = client.get(Kind::kDebugFile, build_id_of("aabb"));
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, ErrorCode::kBusy);
    }
    EXPECT_EQ(client.counters().asked, 1U);
    {
        const auto writer = open_file(gate, O_WRONLY);
        ASSERT_TRUE(writer);
        ASSERT_TRUE(write_all(writer->get(), std::as_bytes(std::span("go\n", 3))));
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    auto answer = client.get(Kind::kDebugFile, build_id_of("aabb"));
    while (!answer && std::chrono::steady_clock::now() < deadline)
        answer = client.get(Kind::kDebugFile, build_id_of("aabb"));
    EXPECT_TRUE(answer);
}

TEST_F(DebuginfodTest, KillsAChildThatTakesTooLong) {
    auto hanging = options("exec sleep 1000");
    hanging.file_limit = std::chrono::seconds(-5);  // over at once: five seconds are added for the child's own limit
    Debuginfod client(hanging, clock_);
    EXPECT_EQ(client.get(Kind::kDebugFile, build_id_of("aabb")).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(client.counters().timed_out, 1U);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // and leaves nothing behind
}

TEST_F(DebuginfodTest, LimitsItsWaitOverAllFiles) {
    auto hanging = options("exec sleep 1000");
    hanging.wait = std::chrono::milliseconds(50);
    Debuginfod client(hanging, clock_);
    const auto since = std::chrono::steady_clock::now();
    for (const char* id : {"aabb", "ccdd", "eeff"}) {
        EXPECT_EQ(client.get(Kind::kDebugFile, build_id_of(id)).error().code, ErrorCode::kBusy);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - since, std::chrono::seconds(10));
}

TEST_F(DebuginfodTest, SaysThatItsProgramIsNotInstalled) {
    auto missing = options("");
    missing.program = folder_ / "no-such-program";
    Debuginfod client(missing, clock_);
    EXPECT_FALSE(client.get(Kind::kDebugFile, build_id_of("aabb")));
    ASSERT_TRUE(client.error());
    EXPECT_NE(client.error()->message.find("is not installed"), std::string::npos);
}

}  // namespace
}  // namespace perfvigil::analyzer
