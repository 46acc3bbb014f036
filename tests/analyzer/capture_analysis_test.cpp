// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/capture_analysis.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/diff.hpp"
#include "analyzer/export/gzip.hpp"
#include "analyzer/input/load.hpp"
#include "base/fd.hpp"
#include "collector/capture_header.hpp"
#include "tests/support/capture_foreign.hpp"
#include "tests/support/capture_heard.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using collector::CaptureReader;
using testing::Contains;
using testing::HasSubstr;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kFirst = 1000 * kSecond;

class CaptureAnalysisTest : public testing::Test {
protected:
    CaptureAnalysisTest() {
        capture_.add_event({attr_of(0), {1}, "cpu_core/cycles/"});
        capture_.add_event({attr_of(0), {2}, "cpu_atom/cycles/"});
        capture_.add_names();
        // One sample per second: 100 of them, every fourth on the other core type.
        for (std::uint64_t i = 0; i < 100; ++i) {
            capture_.add_record(records_.sample(kFirst + i * kSecond, i % 4 == 0 ? 2 : 1, 10));
        }
    }
    std::string write() { return folder_.write("perf.data", Bytes(capture_.file())); }
    static Result<Profile> analyze(const std::string& path, CaptureOptions options) {
        options.symbols.buildid_dir = "";
        auto reader = CaptureReader::open(path);
        if (!reader) return fail(reader.error());
        return analyze_capture(**reader, "id", options, system_clock());
    }
    static CaptureOptions in_time(std::string_view range) {
        return {.samples = {.time = parse_time_range(range).value()}};
    }

    TempFolder folder_;
    ForeignCapture capture_;
    Records records_{attr_of(0)};
};

TEST_F(CaptureAnalysisTest, CoreTypesAreOneEventUnlessSplit) {
    const auto path = write();
    const auto summed = analyze(path, {});
    ASSERT_TRUE(summed) << summed.error().message;
    ASSERT_EQ(summed->events.size(), 1U);
    EXPECT_EQ(summed->events[0].name, "cycles");
    EXPECT_EQ(summed->events[0].samples, 100U);
    EXPECT_EQ(summed->events[0].weight, 1000U);
    std::uint64_t in_moments = 0;
    for (const auto& moment : summed->moments) in_moments += moment.totals.at(0).samples;
    EXPECT_EQ(in_moments, 100U);
    const auto split = analyze(path, {.split_hybrid = true});
    ASSERT_TRUE(split);
    ASSERT_EQ(split->events.size(), 2U);
    EXPECT_EQ(split->events[0].samples, 75U);
    EXPECT_EQ(split->events[1].name, "cpu_atom/cycles/");
    EXPECT_EQ(split->events[1].samples, 25U);
}

TEST_F(CaptureAnalysisTest, SecondsCountFromTheFirstSample) {
    const auto profile = analyze(write(), in_time("10s..20s"));
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(profile->events[0].samples, 10U);
    EXPECT_EQ(profile->events[0].whole_samples, 100U);
    EXPECT_EQ(profile->events[0].whole_weight, 1000U);
    EXPECT_EQ(profile->duration, std::chrono::seconds(10));
    EXPECT_EQ(profile->filter, "--time 10s..20s");
}

TEST_F(CaptureAnalysisTest, PercentAreOfTheHeadersTimesOrOfAFirstPass) {
    // 99 s from the first to the last sample.
    const auto without = analyze(write(), in_time("0%..50%"));
    ASSERT_TRUE(without) << without.error().message;
    EXPECT_EQ(without->events[0].samples, 50U);
    // What the header says is taken: here it claims twice the time.
    capture_.add_feature(collector::kFeatureSampleTime, capture_.u64s({kFirst, kFirst + 198 * kSecond}));
    const auto with = analyze(write(), in_time("0%..25%"));
    ASSERT_TRUE(with) << with.error().message;
    EXPECT_EQ(with->events[0].samples, 50U);
    EXPECT_EQ(analyze(write(), in_time("25%..100%"))->events[0].samples, 50U);
}

TEST_F(CaptureAnalysisTest, PercentOfACaptureThatIsPackedOrHasNoHeader) {
    const auto load = [&](const std::string& name, Bytes bytes) {
        return load_profile(folder_.write(name, bytes),
                            {.samples = {.time = parse_time_range("0%..50%").value()}, .symbols = {.buildid_dir = ""}},
                            system_clock());
    };
    const auto file = capture_.file();
    const auto packed = gzip({reinterpret_cast<const char*>(file.data()), file.size()});
    const auto streamed = capture_.pipe();
    for (const auto& profile : {load("a.gz", std::as_bytes(std::span(packed))), load("pipe", Bytes(streamed))}) {
        ASSERT_TRUE(profile) << profile.error().message;
        EXPECT_EQ(profile->events[0].samples, 50U);
        EXPECT_EQ(profile->events[0].whole_samples, 100U);
    }
}

// What perfvigil diff asks for: slices of the stretch alone, fine enough to vary between.
TEST_F(CaptureAnalysisTest, FineMomentsOfAStretchAreOfThatStretch) {
    auto options = in_time("20s..60s");
    options.moment = std::chrono::milliseconds(100);
    const auto profile = analyze(write(), options);
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(profile->events[0].samples, 40U);
    std::uint64_t samples = 0;
    Nanoseconds length{};
    for (const auto& moment : profile->moments) {
        samples += moment.totals.at(0).samples;
        length += moment.length;
    }
    EXPECT_EQ(samples, 40U);
    EXPECT_NEAR(to_seconds(length), 40, 0.2);
    EXPECT_GE(profile->moments.size(), 20U);
    EXPECT_LE(profile->moments.size(), 40U);
    const auto diffs = compare(*profile, *profile, {});
    ASSERT_TRUE(diffs) << diffs.error().message;
    EXPECT_FALSE(diffs->front().sampling_error_only);
}

TEST_F(CaptureAnalysisTest, PercentOfAStreamAreRefused) {
    const std::string path = folder_ / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    for (const auto* range : {"0%..50%", "0s..50s"}) {
        std::thread writer([&] {
            auto fd = open_file(path, O_WRONLY);
            if (fd) (void)write_all(fd->get(), capture_.pipe());
        });
        const auto profile = analyze(path, in_time(range));
        writer.join();
        if (std::string_view(range).ends_with('%')) {
            ASSERT_FALSE(profile);
            EXPECT_THAT(profile.error().message, HasSubstr(path + ": a time range in percent needs to know the end"));
        } else {
            ASSERT_TRUE(profile) << profile.error().message;
            EXPECT_EQ(profile->events[0].samples, 50U);
        }
    }
}

TEST_F(CaptureAnalysisTest, SamplesWithoutACpuCannotBeSelectedByIt) {
    const auto profile = analyze(write(), {.samples = {.cpus = {CpuId{0}}}});
    ASSERT_TRUE(profile);
    EXPECT_EQ(profile->events[0].samples, 0U);
    EXPECT_EQ(profile->events[0].whole_samples, 100U);
    EXPECT_THAT(profile->warnings, Contains(HasSubstr("100 samples do not say on which CPU they were taken")));
}

TEST_F(CaptureAnalysisTest, SourcesThatAreNotThereEndIt) {
    const auto path = write();
    const auto missing = analyze(path, {.symbols = {.symfs = "/nonexistent"}});
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().message, HasSubstr("--symfs: /nonexistent"));
    const auto useless = folder_.write("kallsyms", "nothing of the kind\n");
    const auto unreadable = analyze(path, {.symbols = {.kallsyms = useless}});
    ASSERT_FALSE(unreadable);
    EXPECT_THAT(unreadable.error().message, HasSubstr("--kallsyms: " + useless));
}

}  // namespace
}  // namespace perfvigil::analyzer
