// SPDX-License-Identifier: GPL-2.0-or-later
// Captures whose recorder died: cut anywhere, with or without the last counter readings. What is told of their CPUs is
// true of the part that is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "analyzer/capture_analysis.hpp"
#include "analyzer/ledger.hpp"
#include "collector/capture_reader.hpp"
#include "tests/support/synthetic_capture.hpp"

namespace perfvigil::test {
namespace {

using analyzer::Profile;
using std::chrono::milliseconds;
using std::chrono::seconds;

SyntheticOptions machine() {
    SyntheticOptions options;
    options.cpus = {{.busy = 0.03},
                    {.busy = 0.5},
                    {.busy = 0.97},
                    {.busy = 0.4, .samples_idle = false},
                    {.busy = 0.6, .offline = {{seconds(3), seconds(5)}}}};
    options.slices = 4;
    options.slice = seconds(4);
    options.seed = 9;
    return options;
}

// As a killed recorder leaves it: the header does not know how much data there is.
std::vector<std::byte> cut(const std::vector<std::byte>& whole, std::size_t size) {
    constexpr std::size_t kDataSize = 48;  // in the file's header
    std::vector<std::byte> bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    std::fill_n(bytes.begin() + kDataSize, 8, std::byte{});
    return bytes;
}

Result<Profile> analyzed(std::vector<std::byte> bytes) {
    auto reader = collector::CaptureReader::from_bytes(std::move(bytes), "cut");
    if (!reader) return fail(std::move(reader.error()));
    analyzer::CaptureOptions options;
    options.symbols.buildid_dir = "";
    options.symbols.debug_dirs = {};
    return analyzer::analyze_capture(**reader, "cut", options, system_clock());
}

TEST(CutCaptures, TellTheTruthOfThePartThatIsThere) {
    const auto options = machine();
    auto stream = SyntheticStream(options);
    const collector::HostFacts host = stream.host();
    const auto whole = written_capture(stream, host);
    ASSERT_TRUE(whole) << whole.error().message;
    int told = 0;
    int estimated = 0;
    for (int part = 8; part < 40; ++part) {
        SCOPED_TRACE("part " + std::to_string(part) + " of 40");
        const auto profile = analyzed(cut(*whole, whole->size() * static_cast<std::size_t>(part) / 40));
        if (!profile) continue;  // nothing but the head
        for (const auto& cpu : profile->cpus) {
            if (!cpu.busy.known || cpu.sum.ticks_due < 100) continue;
            SCOPED_TRACE("cpu " + std::to_string(cpu.sum.cpu.value));
            ++told;
            estimated += cpu.sum.time_estimated ? 1 : 0;
            const auto& facts = options.cpus[cpu.sum.cpu.value];
            // The share of its time that is no work: without a task, and no interrupt in it.
            const double busy = 1 - (1 - facts.busy) * (1 - facts.irq_in_idle);
            // By chance of the states (two milliseconds each), besides that of the ticks.
            const double by_chance = 4.5 * std::sqrt(2 * busy * (1 - busy) * 0.002 / to_seconds(cpu.sum.enabled));
            const auto surely = analyzer::busy_of(cpu.sum, 4.5);
            EXPECT_LE(surely.interval.low, busy + by_chance);
            EXPECT_GE(surely.interval.high, busy - by_chance);
            EXPECT_LE(cpu.busy.coverage, 1.02);
            EXPECT_NEAR(static_cast<double>(cpu.ledger.unexplained), 0,
                        0.02 * static_cast<double>(cpu.ledger.total) + 3e7 +
                            (facts.samples_idle ? 0 : 0.62 * static_cast<double>(cpu.ledger.total)));
            const auto frequency = analyzer::frequency_of(cpu.sum);
            if (frequency.hertz <= 0) continue;
            const double ticks = busy * cpu.sum.ticks_due;
            EXPECT_NEAR(frequency.hertz, 3e9, 3e9 * (0.03 + 4.5 * std::sqrt((1.02 - busy) / ticks)));
        }
    }
    EXPECT_GT(told, 100);
    EXPECT_GT(estimated, 50);
}

// A recording of 0.3 s, of one slice.
TEST(CutCaptures, AShortOne) {
    SyntheticOptions options = machine();
    options.slices = 1;
    options.slice = milliseconds(300);
    options.cpus.pop_back();
    auto stream = SyntheticStream(options);
    const collector::HostFacts host = stream.host();
    const auto whole = written_capture(stream, host);
    ASSERT_TRUE(whole);
    const auto profile = analyzed(*whole);
    ASSERT_TRUE(profile) << profile.error().message;
    ASSERT_EQ(profile->cpus.size(), options.cpus.size());
    for (std::size_t i = 0; i < profile->cpus.size(); ++i) {
        const auto& cpu = profile->cpus[i];
        const auto& truth = stream.truth()[0][i];
        EXPECT_EQ(cpu.sum.enabled, truth.enabled);
        EXPECT_EQ(cpu.ledger.busy, truth.weights.busy.count());
        const double busy = to_seconds(truth.task + truth.irq_in_idle) / to_seconds(truth.enabled);
        const auto surely = analyzer::busy_of(cpu.sum, 4.5);
        EXPECT_LE(surely.interval.low, busy);
        EXPECT_GE(surely.interval.high + 1e-4, busy);
    }
}

}  // namespace
}  // namespace perfvigil::test
