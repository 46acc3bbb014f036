// SPDX-License-Identifier: GPL-2.0-or-later
// Which kind of file is which, and what is said of those that hold no profile.
#include "analyzer/input/load.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/export/gzip.hpp"
#include "analyzer/input/recognize.hpp"
#include "analyzer/profile/codec.hpp"
#include "base/fd.hpp"
#include "tests/support/pprof_bytes.hpp"
#include "tests/support/profile_folds.hpp"
#include "tests/support/random_profile.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kScript =
    "app   100/101   [000]     10.000000:   10101010 cpu-clock: \n"
    "\t          401000 leaf+0x10 (/bin/app)\n"
    "\t          402000 main+0x20 (/bin/app)\n\n";
const Folds kScriptFolds{{"app;main;leaf", 10101010}};

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class Load : public testing::Test {
protected:
    Result<Profile> load(const std::string& text, LoadOptions options = {}) {
        return load_profile(folder_.write("x", text), options, system_clock());
    }
    std::string error_of(const std::string& text, LoadOptions options = {}) {
        const auto profile = load(text, options);
        return profile ? "no error" : profile.error().message;
    }
    // What a kind of text is taken for.
    std::string kind_of(const std::string& text) {
        const auto format = recognize_text(bytes_of(text));
        return format ? std::string(input_format_name(*format)) : format.error().message;
    }

    TempFolder folder_;
};

TEST_F(Load, TextsAreRecognizedByTheirLines) {
    EXPECT_EQ(kind_of(kScript), "script");
    EXPECT_EQ(kind_of("# ========\n# hostname : x\n# ========\n#\n" + kScript), "script");
    EXPECT_EQ(kind_of("Warning:\nProcessed 1 events and lost 1 chunks!\n\n" + kScript), "script");
    EXPECT_EQ(kind_of("node 31912 cpu-clock: \n\t 1 f (/bin/a)\n"), "script");
    EXPECT_EQ(kind_of("a;b;c 1\na;b 2\n"), "folded");
    EXPECT_EQ(kind_of("# made by hand\nmain 1\nmain;f 2\nwhat?\n"), "folded");
    EXPECT_EQ(kind_of("main 1\nother 2\n"), "folded");
    EXPECT_EQ(kind_of("# ========\n# hostname : x\n#\n# Samples: 5 of event 'cycles'\n"), "report");
    EXPECT_EQ(kind_of("# Events: 898  cycles\n"), "report");
    EXPECT_EQ(kind_of("#\n# Total Lost Samples: 0\n"), "report");
}

TEST_F(Load, OtherTextsAreCalledWhatTheyAre) {
    EXPECT_THAT(kind_of(" Performance counter stats for 'x':\n\n 4.78 cpu-clock\n"), HasSubstr("perf stat"));
    EXPECT_THAT(kind_of("# Event 'cycles'\n#\n# Baseline  Delta Abs\n"), HasSubstr("perf diff"));
    EXPECT_THAT(kind_of("heap profile: 1: 2 [3: 4] @ heapprofile\n"), HasSubstr("heap profile"));
    EXPECT_THAT(kind_of("{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\"}"), HasSubstr("JSON"));
    EXPECT_THAT(kind_of("\nthis\nis an unknown\nformat\n"), HasSubstr("line 2 is \"this\""));
    EXPECT_THAT(error_of("\nthis\n"), StartsWith(folder_ / "x"));
    EXPECT_THAT(error_of(""), HasSubstr("it is empty"));
    EXPECT_THAT(error_of(std::string("\x7f"
                                     "ELF\x02\x01\x01\0\0\0",
                                     10)),
                HasSubstr("ELF"));
    EXPECT_THAT(load_profile(folder_ / "absent", {}, system_clock()).error().message, HasSubstr("absent"));
}

TEST_F(Load, TheSameTextInEveryWrapping) {
    const auto plain = load(kScript);
    ASSERT_TRUE(plain.has_value());
    EXPECT_EQ(folds_of(*plain), kScriptFolds);
    EXPECT_EQ(plain->id, "x");
    std::string crlf;
    std::string utf16 = "\xff\xfe";
    for (const char c : kScript) {
        if (c == '\n') crlf += '\r';
        crlf += c;
        utf16 += c;
        utf16 += '\0';
    }
    for (const auto& text : {"\xef\xbb\xbf" + kScript, crlf, utf16, utf16.substr(2)}) {
        const auto other = load(text);
        ASSERT_TRUE(other.has_value()) << other.error().message;
        EXPECT_EQ(*other, *plain);
    }
}

TEST_F(Load, AForcedKindIsNotJudged) {
    EXPECT_EQ(load("main 1\nother x\n", {.format = InputFormat::kFolded})->events[0].samples, 1U);
    EXPECT_THAT(error_of(kScript, {.format = InputFormat::kReport}), HasSubstr("no row of perf report"));
    EXPECT_THAT(error_of(kScript, {.format = InputFormat::kProfile}), StartsWith(folder_ / "x"));
    EXPECT_THAT(error_of(kScript, {.format = InputFormat::kPprof}), StartsWith(folder_ / "x"));
    EXPECT_THAT(error_of(kScript, {.format = InputFormat::kCapture}), StartsWith(folder_ / "x"));
    EXPECT_THAT(error_of(kScript, {.format = InputFormat::kCpuProfile}), HasSubstr("gperftools"));
}

TEST_F(Load, NamesOfKinds) {
    for (const auto format : {InputFormat::kCapture, InputFormat::kScript, InputFormat::kFolded, InputFormat::kReport,
                              InputFormat::kPprof, InputFormat::kCpuProfile, InputFormat::kProfile}) {
        EXPECT_EQ(parse_input_format(input_format_name(format)), format);
        EXPECT_THAT(input_format_names(), HasSubstr(std::string(input_format_name(format))));
    }
    EXPECT_FALSE(parse_input_format("perf").has_value());
}

TEST_F(Load, StoredProfilesComeBackEqual) {
    std::mt19937_64 random(7);
    const Profile profile = random_profile(random);
    const auto bytes = encode_profile(profile);
    const auto path = folder_.write("p", Bytes(bytes));
    const auto again = load_profile(path, {}, system_clock());
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(*again, profile);
}

TEST_F(Load, PprofIsRecognized) {
    PprofBytes out;
    out.type("samples", "count");
    out.type("cpu", "nanoseconds");
    out.function(1, "f");
    out.location(1, 0, {1});
    out.sample({1}, {2, 20});
    const auto profile = load(out.finish());
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    EXPECT_EQ(folds_of(*profile), (Folds{{"f", 20}}));
}

TEST_F(Load, APipeIsReadOnce) {
    const auto path = folder_ / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] {
        auto fd = open_file(path, O_WRONLY);
        ASSERT_TRUE(fd.has_value());
        for (int i = 0; i < 5000; ++i) ASSERT_TRUE(write_all(fd->get(), bytes_of(kScript)).has_value());
    });
    const auto profile = load_profile(path, {}, system_clock());
    writer.join();
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    EXPECT_EQ(folds_of(*profile), (Folds{{"app;main;leaf", 5000 * std::uint64_t{10101010}}}));
}

std::string script_of(int samples) {
    std::string text;
    for (int i = 0; i < samples; ++i) {
        text +=
            "app 100/101 [000] " + std::to_string(10 + i) + ".000000: 10101010 cpu-clock: \n\t 401000 f (/bin/app)\n\n";
    }
    return text;
}

TEST_F(Load, PercentOfATextAreFoundInAPassOfTheirOwn) {
    const LoadOptions half{.samples = {.time = TimeRange{TimeRange::Unit::kPercent, 50, 100}}};
    const auto text = script_of(101);
    for (const auto& packed : {text, gzip(text)}) {
        const auto profile = load(packed, half);
        ASSERT_TRUE(profile.has_value()) << profile.error().message;
        EXPECT_EQ(profile->events[0].samples, 51U);
        EXPECT_EQ(profile->events[0].whole_samples, 101U);
    }
}

TEST_F(Load, PercentOfAPipeAreRefused) {
    const auto path = folder_ / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] {
        auto fd = open_file(path, O_WRONLY);
        ASSERT_TRUE(fd.has_value());
        ASSERT_TRUE(write_all(fd->get(), bytes_of(kScript)).has_value());
    });
    const auto profile =
        load_profile(path, {.samples = {.time = TimeRange{TimeRange::Unit::kPercent, 0, 50}}}, system_clock());
    writer.join();
    ASSERT_FALSE(profile.has_value());
    EXPECT_THAT(profile.error().message, HasSubstr("can be read only once"));
}

TEST_F(Load, StandardInputIsReadTwiceWhereItIsAFile) {
    const auto path = folder_.write("x", "a line of somebody else\n" + script_of(11));
    const int saved = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(::dup2(file, STDIN_FILENO), 0);
    ::close(file);
    ASSERT_EQ(::lseek(STDIN_FILENO, 24, SEEK_SET), 24);
    const auto profile =
        load_profile("-", {.samples = {.time = TimeRange{TimeRange::Unit::kPercent, 50, 100}}}, system_clock());
    ::dup2(saved, STDIN_FILENO);
    ::close(saved);
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    EXPECT_EQ(profile->events[0].samples, 6U);
    EXPECT_EQ(profile->warnings.size(), 0U) << profile->warnings[0];
}

TEST_F(Load, OnlyRecordingsAndTheirTextsKnowTimesAndTasks) {
    EXPECT_THAT(error_of("a;b 1\n", {.samples = {.pids = {Pid{1}}}}), HasSubstr("this is folded"));
    EXPECT_THAT(error_of(kScript, {.samples = {.by_line = true}}), HasSubstr("source lines"));
}

TEST_F(Load, TheOldCpuProfileHasCountsAndBinaries) {
    std::string bytes;
    const auto word = [&](std::uint64_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
    for (const std::uint64_t value : {0U, 3U, 0U, 10'000U, 0U}) word(value);
    for (const std::uint64_t value : {5U, 2U, 0x400010U, 0x700000U}) word(value);
    for (const std::uint64_t value : {2U, 1U, 0x800000U}) word(value);
    for (const std::uint64_t value : {0U, 1U, 0U}) word(value);
    bytes +=
        "00400000-00500000 r-xp 00000000 08:01 123        /bin/app\n"
        "00600000-00700000 r-xp 00000000 08:01 124        /lib/libc.so\n"
        "00700000-00900000 rw-p 00000000 08:01 124        /lib/data\n";
    const auto profile = load(bytes);
    ASSERT_TRUE(profile.has_value()) << profile.error().message;
    EXPECT_EQ(profile->events[0].samples, 7U);
    EXPECT_EQ(profile->events[0].weight, 70'000'000U);
    EXPECT_EQ(profile->events[0].rate, 100U);
    ASSERT_EQ(profile->samples.size(), 2U);
    const auto& stack = profile->stacks[profile->samples[0].stack].functions;
    ASSERT_EQ(stack.size(), 2U);
    EXPECT_EQ(profile->functions[stack[0]].dso, "/bin/app");
    EXPECT_EQ(profile->functions[stack[1]].dso, "/lib/libc.so");  // the call lies one byte earlier
    EXPECT_EQ(profile->functions[profile->stacks[profile->samples[1].stack].functions[0]].reason,
              UnknownReason::kUnmapped);
}

}  // namespace
}  // namespace perfvigil::analyzer
