// SPDX-License-Identifier: GPL-2.0-or-later
// Captures of ours in the hands of the installed perf: it must read them without a word on standard error and find what
// was written.
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "collector/capture_reader.hpp"
#include "collector/capture_writer.hpp"
#include "tests/support/capture_file_sink.hpp"
#include "tests/support/capture_stream.hpp"
#include "tests/support/synthetic_capture.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;

struct Output {
    int status = -1;
    std::string out;
    std::string err;
};

bool perf_is_here() { return std::system("command -v perf >/dev/null 2>&1") == 0; }

class CaptureForPerf : public testing::TestWithParam<int> {
protected:
    void SetUp() override {
        if (!perf_is_here()) GTEST_SKIP() << "needs perf (apt-get install linux-perf)";
        host_ = read_host_facts(system_clock());
        if (host_.kernel_start == 0) GTEST_SKIP() << "needs the addresses in /proc/kallsyms";
    }

    // The stream's slices from `first_slice` on as a file of their own.
    void write(CaptureStream& stream, unsigned first_slice, unsigned slices) {
        stream.use_kernel_of(host_);
        CaptureBaseline baseline;
        stream.play_slices(baseline, 0, first_slice);
        auto writer = CaptureWriter::create(path(), stream.events(), stream.host(), stream.processes(),
                                            {.compression_level = GetParam(),
                                             .command_line = "perfvigil record -a",
                                             .baseline = first_slice == 0 ? nullptr : &baseline});
        ASSERT_TRUE(writer.has_value()) << writer.error().message;
        CaptureFileSink sink(**writer);
        stream.play_slices(sink, first_slice, slices);
        ASSERT_TRUE((*writer)->finish().has_value());
    }

    Output perf(const std::string& arguments) const {
        const std::string command =
            fmt::format("perf {} >'{}' 2>'{}' </dev/null", arguments, folder_ / "out", folder_ / "err");
        Output output;
        output.status = std::system(command.c_str());
        output.out = read_file(folder_ / "out", 1U << 30).value_or("");
        output.err = read_file(folder_ / "err").value_or("");
        return output;
    }

    std::string path() const { return folder_ / "a.perf.data"; }

private:
    TempFolder folder_;
    HostFacts host_;
};
INSTANTIATE_TEST_SUITE_P(Levels, CaptureForPerf, testing::Values(0, 3),
                         [](const auto& level) { return level.param == 0 ? "Plain" : "Compressed"; });

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::uint64_t lines_with(const std::string& text, std::string_view part) {
    const auto lines = split(text, '\n');
    return static_cast<std::uint64_t>(std::count_if(
        lines.begin(), lines.end(), [&](std::string_view line) { return line.find(part) != std::string_view::npos; }));
}

TEST_P(CaptureForPerf, TheHeaderSaysWhereTheCaptureIsFrom) {
    CaptureStream stream({.change_rate = true});
    write(stream, 0, 3);
    const auto report = perf("report --header-only -i " + path());
    EXPECT_EQ(report.err, "");
    EXPECT_EQ(report.status, 0);
    for (const char* line :
         {"# hostname : stream", "# os release : 6.1.0-test", "# perf version : perfvigil test", "# arch : x86_64",
          "# nrcpus online : 2", "# nrcpus avail : 2", "# cpudesc : A CPU of tests", "# cpuid : GenuineIntel,6,85,7",
          "# total memory : 2097152 kB", "# cmdline : perfvigil record -a", "name = cpu-clock", "name = dummy:HG",
          "# time of first sample : 1000.000000", "# clockid frequency: 1000 MHz", "# reference time: 2023-11-14"}) {
        EXPECT_TRUE(contains(report.out, line)) << line << "\n" << report.out;
    }
    EXPECT_EQ(contains(report.out, "# compressed : Zstd"), GetParam() != 0);
}

TEST_P(CaptureForPerf, EventsAreListedWithEachRate) {
    CaptureStream stream({.change_rate = true});
    write(stream, 0, 3);
    const auto evlist = perf("evlist -v -i " + path());
    EXPECT_EQ(evlist.err, "");
    EXPECT_EQ(lines_with(evlist.out, "cpu-clock: "), 2U) << evlist.out;
    EXPECT_EQ(lines_with(evlist.out, "cycles: "), 2U);
    EXPECT_EQ(lines_with(evlist.out, "dummy:HG: "), 1U);
    EXPECT_TRUE(contains(evlist.out, "{ sample_period, sample_freq }: 200")) << evlist.out;
    EXPECT_TRUE(contains(evlist.out, "{ sample_period, sample_freq }: 100"));
}

TEST_P(CaptureForPerf, EverySampleIsPrintedWithItsCommand) {
    CaptureStream stream;
    write(stream, 0, 3);
    const auto script = perf("script -F comm,tid,cpu,time,event,ip,sym,dso -i " + path());
    EXPECT_EQ(script.err, "");
    EXPECT_EQ(lines_with(script.out, "cpu-clock:"), stream.samples() / 2);
    EXPECT_EQ(lines_with(script.out, "cycles:"), stream.samples() / 2);
    EXPECT_GT(lines_with(script.out, "/usr/bin/worker"), 0U);
    EXPECT_EQ(lines_with(script.out, ":100"), 0U) << "a task without a name";
}

TEST_P(CaptureForPerf, ALateFileStandsAlone) {
    CaptureStream stream({.slices = 5, .lost_per_slice = 3});
    write(stream, 3, 5);
    const auto script = perf("script -F comm,tid,ip,sym,dso -i " + path());
    EXPECT_EQ(script.err, "");
    EXPECT_EQ(lines_with(script.out, ":100"), 0U) << "a task without a name";
    EXPECT_GT(lines_with(script.out, "helper \tthread"), 0U);
    EXPECT_GT(lines_with(script.out, "worker   100"), 0U);
    EXPECT_GT(lines_with(script.out, "(/usr/bin/worker)"), 0U);
    EXPECT_GT(lines_with(script.out, "(/usr/bin/shorty)"), 0U);
    EXPECT_GT(lines_with(script.out, "([kernel.kallsyms])"), 0U);
    EXPECT_EQ(lines_with(script.out, "([unknown])"), 0U);
}

// The sum of the first column ("samples,comm" rows) in the part of a report that is about `event`.
std::uint64_t samples_of(const std::string& report, const std::string& event) {
    std::uint64_t sum = 0;
    bool inside = false;
    for (std::string_view line : split(report, '\n')) {
        if (line.starts_with("# Samples:")) inside = line.ends_with("of event '" + event + "'");
        if (!inside || line.starts_with('#')) continue;
        sum += parse_number<std::uint64_t>(trim(next_piece(line, ';'))).value_or(0);
    }
    return sum;
}

TEST_P(CaptureForPerf, ReportCountsWhatWasWritten) {
    CaptureStream stream({.slices = 4, .lost_per_slice = 6});
    write(stream, 0, 4);
    const auto report = perf("report --stdio -g none --no-children -F sample,comm,dso -t ';' -i " + path());
    EXPECT_EQ(report.err, "");
    EXPECT_EQ(report.status, 0);
    const auto per_event = stream.samples() / 2;
    EXPECT_EQ(samples_of(report.out, "cpu-clock"), per_event) << report.out;
    EXPECT_EQ(samples_of(report.out, "cycles"), per_event);
    EXPECT_TRUE(contains(report.out, fmt::format("# Event count (approx.): {}", per_event * 5'000'000)));
    EXPECT_TRUE(contains(report.out, "# Total Lost Samples: 24")) << report.out;
}

TEST_P(CaptureForPerf, RecordCountsAgreeWithOurOwnReader) {
    CaptureStream stream({.slices = 4, .samples_per_slice = 900, .lost_per_slice = 6, .change_rate = true});
    write(stream, 0, 4);
    auto reader = CaptureReader::open(path());
    ASSERT_TRUE(reader.has_value());
    KeepingSink kept((*reader)->events());
    ASSERT_TRUE((*reader)->finish(kept).has_value());
    const auto dump = perf("report --stats -i " + path());
    EXPECT_EQ(dump.err, "");
    for (const auto& [type, count] : (*reader)->counts().by_type) {
        const std::string name(record_type_name(type));
        if (name == "COMPRESSED") continue;  // perf counts what is inside
        EXPECT_TRUE(contains(dump.out, fmt::format("{} events: {:>10}", name, count))) << name << " " << count << "\n"
                                                                                       << dump.out;
    }
}

// A machine of two core types has an event of each, on its own CPUs.
TEST_P(CaptureForPerf, EventsOfTwoCoreTypes) {
    SyntheticOptions options{.cpus = {{.busy = 0.9}, {.busy = 0.5, .pmu = 1}}, .slices = 2};
    options.core_pmus = {{"cpu_core", 4}, {"cpu_atom", 10}};
    SyntheticStream stream(options);
    auto host = stream.host();
    host.hostname = "hybrid";
    const auto bytes = written_capture(stream, host);
    ASSERT_TRUE(bytes) << bytes.error().message;
    const auto fd = open_file(path(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ASSERT_TRUE(fd);
    ASSERT_TRUE(write_all(fd->get(), *bytes));

    const auto names = perf("evlist -i " + path());
    EXPECT_EQ(names.err, "");
    EXPECT_EQ(names.out, "cpu_core/cycles/\ncpu_atom/cycles/\ncpu-clock\ndummy:HG\n");
    auto reader = CaptureReader::open(path());
    ASSERT_TRUE(reader);
    KeepingSink kept((*reader)->events());
    ASSERT_TRUE((*reader)->finish(kept).has_value());
    const auto script = perf("script -F event,cpu -i " + path());
    EXPECT_EQ(script.err, "");
    EXPECT_GT(lines_with(script.out, "cpu_core/cycles/"), 0U);
    EXPECT_GT(lines_with(script.out, "[001]"), lines_with(script.out, "cpu_core/cycles/"));
    EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(script.out, '\n')),
              (*reader)->counts().by_type.at(kRecordSample))
        << "every sample";
    for (const std::string_view line : split(script.out, '\n')) {
        EXPECT_FALSE(line.contains("[000]") && line.contains("cpu_atom")) << line;
        EXPECT_FALSE(line.contains("[001]") && line.contains("cpu_core")) << line;
    }
}

}  // namespace
}  // namespace perfvigil::collector
