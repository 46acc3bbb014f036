// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/recording_rate.hpp"

#include <gtest/gtest.h>

namespace perfvigil::collector {
namespace {

RecordingOptions dumps(std::uint32_t bytes, std::uint32_t hertz) {
    RecordingOptions options;
    options.call_chains = CallChains::kStackDumps;
    options.stack_dump_bytes = bytes;
    options.tuning.frequency = hertz;
    return options;
}

TEST(RecordingRate, EveryEventOfACpuCounts) {
    RecordingOptions options = dumps(8192, 100);
    const RecordingRate two = most_per_cpu(options);
    EXPECT_EQ(two.samples_per_second, 200U);
    EXPECT_GT(two.sample_bytes, 8192U);
    EXPECT_LT(two.sample_bytes, 8192U + 1024);
    EXPECT_EQ(two.bytes_per_second(), two.sample_bytes * 200);
    options.call_chains = CallChains::kFramePointers;
    EXPECT_LT(most_per_cpu(options).sample_bytes, 512U);
    options.call_chains = CallChains::kNone;
    EXPECT_LT(most_per_cpu(options).sample_bytes, 128U);
}

TEST(RecordingRate, ARingHoldsASecondUpToItsShareOfTheTotal) {
    const RecordingOptions usual = dumps(8192, 99);
    const std::uint64_t ring = sample_ring_for(usual, 2);
    EXPECT_EQ(ring, 2U << 20) << "1.7 MB/s, in a power of two";
    EXPECT_GE(ring, most_per_cpu(usual).bytes_per_second());
    EXPECT_EQ(sample_ring_for(RecordingOptions{}, 2), Tuning{}.sample_ring_bytes) << "the default is enough";
    const RecordingOptions fast = dumps(65528, 999);
    EXPECT_EQ(sample_ring_for(fast, 2), 32U << 20) << "half of 128 MiB less the side-band ring, rounded down";
    EXPECT_EQ(sample_ring_for(fast, 4096), Tuning{}.sample_ring_bytes) << "never below the default";
    EXPECT_EQ(sample_ring_for(fast, 0), 64U << 20);
}

}  // namespace
}  // namespace perfvigil::collector
