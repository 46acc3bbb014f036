// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_recovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>

#include "collector/capture_file.hpp"
#include "collector/capture_reader.hpp"
#include "collector/capture_writer.hpp"
#include "tests/support/capture_file_sink.hpp"
#include "tests/support/capture_stream.hpp"
#include "tests/support/daemon_files.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;
using testing::HasSubstr;
using testing::IsEmpty;

class CaptureRecoveryTest : public testing::TestWithParam<int> {
protected:
    // A capture whose recorder went away after its last slice, without finishing it.
    std::string unfinished() {
        CaptureStream stream({.slices = 4, .samples_per_slice = 100, .lost_per_slice = 3});
        auto writer = CaptureWriter::create(path, stream.events(), stream.host(), stream.processes(),
                                            {.compression_level = GetParam()});
        CaptureFileSink sink(**writer);
        stream.play(sink);
        EXPECT_TRUE((*writer)->flush());
        samples = stream.samples();
        return partial_capture_path(path);
    }
    struct Read {
        CaptureCounts counts;
        std::vector<std::string> warnings;
        std::vector<std::string> events;
        std::string hostname;
    };
    static Read read(const std::string& file) {
        auto reader = CaptureReader::open(file);
        if (!reader) {
            ADD_FAILURE() << reader.error().message;
            return {};
        }
        KeepingSink sink((*reader)->events());
        EXPECT_TRUE((*reader)->finish(sink));
        Read made{(*reader)->counts(), (*reader)->warnings(), {}, (*reader)->host().hostname};
        for (const auto& event : (*reader)->events().events()) made.events.push_back(event.name);
        return made;
    }

    TempFolder folder;
    std::string path = folder / "x.perf.data";
    std::uint64_t samples = 0;
};

TEST_P(CaptureRecoveryTest, IsAWholeFile) {
    const auto partial = unfinished();
    const auto before = read(partial);
    const auto made = recover_capture(partial);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->path, path);
    EXPECT_EQ(made->torn, 0U);
    EXPECT_FALSE(std::filesystem::exists(partial));
    const auto after = read(path);
    EXPECT_EQ(after.counts.samples, samples);
    EXPECT_EQ(after.events, before.events);
    EXPECT_EQ(after.hostname, before.hostname);
    EXPECT_THAT(after.warnings, IsEmpty());
    EXPECT_FALSE(recover_capture(path)) << "it has its final name";
}

TEST_P(CaptureRecoveryTest, CutAnywhereItKeepsWhatIsWhole) {
    const auto partial = unfinished();
    const auto whole = slurp(partial);
    std::mt19937 random(7);
    std::uniform_int_distribution<std::size_t> anywhere(0, whole.size() - 1);
    std::size_t recovered = 0;
    std::uint64_t most = 0;
    for (int i = 0; i < 200; ++i) {
        const auto cut = whole.substr(0, anywhere(random));
        spill(partial, cut);
        const auto made = recover_capture(partial);
        if (!made) {
            EXPECT_THAT(made.error().code, testing::AnyOf(ErrorCode::kInvalid, ErrorCode::kTruncated));
            EXPECT_EQ(slurp(partial), cut) << "what cannot be recovered is left as it is";
            continue;
        }
        ++recovered;
        const auto after = read(path);
        EXPECT_THAT(after.warnings, IsEmpty()) << cut.size();
        EXPECT_LE(after.counts.samples, samples);
        most = std::max(most, after.counts.samples);
    }
    EXPECT_GT(recovered, 50U);
    EXPECT_GT(most, samples / 2);
}

// Killed while it recovers: what was appended is no record, so the next try ends at the same place.
TEST_P(CaptureRecoveryTest, CanBeDoneAgain) {
    const auto partial = unfinished();
    const auto torn = slurp(partial).substr(0, slurp(partial).size() - 3);
    spill(partial, torn);
    const auto first = recover_capture(partial);
    ASSERT_TRUE(first);
    auto halfway = slurp(path);
    halfway.replace(0, torn.size() < 104 ? 0 : 104, torn.substr(0, 104));  // the head was not written yet
    spill(partial, halfway);
    const auto again = recover_capture(partial);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->bytes, first->bytes);
    EXPECT_THAT(read(path).warnings, IsEmpty());
}

TEST_P(CaptureRecoveryTest, ZerosOfAPowerCutAreNoRecords) {
    const auto partial = unfinished();
    const auto whole = slurp(partial);
    spill(partial, whole + std::string(5000, '\0'));
    const auto made = recover_capture(partial);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->torn, 5000U);
    EXPECT_EQ(read(path).counts.samples, samples);
}

TEST_P(CaptureRecoveryTest, KeepsItsTime) {
    const auto partial = unfinished();
    const timespec long_ago[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 2000, .tv_nsec = 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, partial.c_str(), long_ago, 0), 0);
    ASSERT_TRUE(recover_capture(partial));
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mtim.tv_sec, 2000);
}

INSTANTIATE_TEST_SUITE_P(Compression, CaptureRecoveryTest, testing::Values(0, 3));

TEST(CaptureRecoveryRefusals, WhatIsNotOurs) {
    TempFolder folder;
    const auto partial = folder / "x.perf.data.partial";
    for (const auto& text : {std::string(), std::string("PERFILE2"), std::string(5000, 'x'), std::string(5000, '\0')}) {
        spill(partial, text);
        const auto made = recover_capture(partial);
        ASSERT_FALSE(made);
        EXPECT_THAT(made.error().message, HasSubstr(partial));
        EXPECT_EQ(slurp(partial), text);
    }
    EXPECT_EQ(recover_capture(folder / "none.perf.data.partial").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace perfvigil::collector
