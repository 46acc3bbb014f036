// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/capture_facts.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/record_bytes.hpp"

namespace perfvigil::collector {
namespace {

using namespace perfvigil::test;
using testing::HasSubstr;

CaptureFacts sample_facts() {
    CaptureFacts facts;
    facts.host.hostname = "host";
    facts.host.kernel_reference = "_stext";
    facts.host.kernel_config = {{"CONFIG_KASAN", "y"}, {"CONFIG_KCSAN", "n"}};
    facts.host.settings = {{"smt", "on"}};
    facts.host.modules = {{.name = "m",
                           .path = "[m]",
                           .start = 0xffffffffc0000000,
                           .size = 4096,
                           .build_id = {},
                           .sections = {{".text", 0xffffffffc0000000}, {".text.unlikely", 0xffffffffc0000800}}}};
    facts.host.cpu_times = {{monotonic_from_ns(5), {{.cpu = CpuId{0}, .user = 100}, {.cpu = CpuId{3}, .idle = 200}}}};
    facts.events = {{"cpu-clock", EventRole::kSampling, cpu_clock_attr()},
                    {"dummy:HG", EventRole::kSideBand, side_band_attr()}};
    facts.instances = {{.id = EventId{7}, .event = EventIndex{1}, .cpu = CpuId{0}, .generation = 3}};
    facts.instances.push_back(
        {.id = EventId{8}, .event = EventIndex{0}, .cpu = std::nullopt, .nominal_period = Nanoseconds(5)});
    for (std::uint64_t i = 1; i < 4; ++i) {
        Cut cut;
        cut.time = monotonic_from_ns(1000 * i);
        cut.wall = WallTime(Nanoseconds(static_cast<std::int64_t>(5000 * i)));
        // A CPU goes and comes back; counters may even run backwards (steal did on some hypervisors).
        cut.cpu_times = {{.cpu = CpuId{0}, .user = 100 + i, .steal = 9 - i}};
        if (i != 2) cut.cpu_times.push_back({.cpu = CpuId{3}, .idle = 200 * i});
        cut.waits.run_delays = {{CpuId{0}, Nanoseconds(17 * static_cast<std::int64_t>(i))}, {CpuId{3}, {}}};
        if (i == 2) cut.waits.throttled = {{"/system.slice/a.service", 50, 7, Nanoseconds(123456789)}};
        cut.lost_side_band = i;
        cut.last = i == 3;
        facts.cuts.push_back(cut);
    }
    return facts;
}

TEST(CaptureFacts, ComeBackAsTheyWere) {
    const auto facts = sample_facts();
    const auto read = decode_capture_facts(encode_capture_facts(facts));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->host.hostname, "host");
    EXPECT_EQ(read->host.kernel_reference, "_stext");
    EXPECT_EQ(read->host.modules, facts.host.modules);
    EXPECT_EQ(read->host.kernel_config, facts.host.kernel_config);
    EXPECT_EQ(read->host.settings, facts.host.settings);
    ASSERT_EQ(read->events.size(), 2U);
    EXPECT_EQ(read->events[1].name, "dummy:HG");
    EXPECT_EQ(read->events[1].role, EventRole::kSideBand);
    EXPECT_TRUE(read->events[0].attr == facts.events[0].attr);
    ASSERT_EQ(read->instances.size(), 2U);
    EXPECT_EQ(read->instances[0].cpu, CpuId{0});
    EXPECT_EQ(read->instances[0].generation, 3U);
    EXPECT_EQ(read->instances[1].cpu, std::nullopt);
    EXPECT_EQ(read->instances[1].nominal_period, Nanoseconds(5));
    ASSERT_EQ(read->cuts.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        const Cut& expected = facts.cuts[i];
        const Cut& got = read->cuts[i];
        EXPECT_EQ(got.time, expected.time);
        EXPECT_EQ(got.wall, expected.wall);
        EXPECT_EQ(got.last, expected.last);
        EXPECT_EQ(got.waits, expected.waits);
        ASSERT_EQ(got.cpu_times.size(), expected.cpu_times.size());
        for (std::size_t row = 0; row < got.cpu_times.size(); ++row) {
            EXPECT_EQ(got.cpu_times[row].cpu, expected.cpu_times[row].cpu);
            EXPECT_EQ(got.cpu_times[row].user, expected.cpu_times[row].user);
            EXPECT_EQ(got.cpu_times[row].idle, expected.cpu_times[row].idle);
            EXPECT_EQ(got.cpu_times[row].steal, expected.cpu_times[row].steal);
        }
    }
}

TEST(CaptureFacts, ASliceOfManyCpusCostsFewBytes) {
    CaptureFacts facts;
    constexpr std::uint64_t kTick = 10'000'000;
    for (std::uint64_t i = 0; i < 120; ++i) {
        Cut cut;
        for (std::uint32_t cpu = 0; cpu < 64; ++cpu)
            cut.cpu_times.push_back(
                {.cpu = CpuId{cpu}, .user = 400 * kTick * i, .system = 50 * kTick * i, .idle = 50 * kTick * i});
        facts.cuts.push_back(cut);
    }
    EXPECT_LT(encode_capture_facts(facts).size(), 120U * 64 * 24);
}

TEST(CaptureFacts, CutAnywhereTheyAreReadOrRefused) {
    const auto bytes = encode_capture_facts(sample_facts());
    std::size_t refused = 0;
    for (std::size_t length = 0; length < bytes.size(); ++length)
        refused += decode_capture_facts(Bytes(bytes).first(length)).has_value() ? 0 : 1;
    EXPECT_GT(refused, bytes.size() / 2);
}

TEST(CaptureFacts, DamagedTheyAreReadOrRefused) {
    const auto bytes = encode_capture_facts(sample_facts());
    std::mt19937_64 random(7);
    std::size_t refused = 0;
    for (int i = 0; i < 20000; ++i) {
        auto damaged = bytes;
        for (int n = 0; n < 3; ++n)
            damaged[random() % damaged.size()] = std::byte{static_cast<unsigned char>(random())};
        const auto read = decode_capture_facts(damaged);
        if (!read) {
            ++refused;
            EXPECT_THAT(read.error().message, HasSubstr("the host facts"));
            continue;
        }
        for (const auto& instance : read->instances) ASSERT_LT(instance.event.value, read->events.size());
    }
    EXPECT_GT(refused, 1000U);
}

TEST(CaptureFacts, AListWithoutEndIsRefused) {
    // Empty cuts (field 5, no bytes): two bytes each.
    std::vector<std::byte> bytes;
    for (int i = 0; i < (1 << 20) + 1; ++i) {
        bytes.push_back(std::byte{5 << 3 | 2});
        bytes.push_back(std::byte{0});
    }
    const auto read = decode_capture_facts(bytes);
    ASSERT_FALSE(read.has_value());
    EXPECT_THAT(read.error().message, HasSubstr("a list is too long"));
}

}  // namespace
}  // namespace perfvigil::collector
