// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/time_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/support/allocations.hpp"

namespace perfvigil::collector {
namespace {

MonotonicTime at(std::int64_t ns) { return MonotonicTime(Nanoseconds(ns)); }

// A record whose bytes are its number, repeated.
std::vector<std::byte> numbered(std::uint64_t number, std::size_t words = 1) {
    std::vector<std::byte> out;
    for (std::size_t i = 0; i < words; ++i) ByteWriter(out).u64(number);
    return out;
}

std::uint64_t number_of(const TimeOrder::Item& item) {
    ByteReader in(item.bytes());
    return in.u64();
}

std::vector<std::uint64_t> flushed(TimeOrder& order, std::int64_t limit) {
    std::vector<std::uint64_t> out;
    order.flush_before(at(limit), [&](const TimeOrder::Item& item) { out.push_back(number_of(item)); });
    return out;
}

using Numbers = std::vector<std::uint64_t>;

TEST(TimeOrder, MergesRingsAndKeepsWhatIsNotDue) {
    TimeOrder order;
    for (const int t : {10, 30, 50}) order.push_copy(at(t), numbered(static_cast<std::uint64_t>(t)), 1);
    for (const int t : {20, 40, 60}) order.push_copy(at(t), numbered(static_cast<std::uint64_t>(t)), 2);
    EXPECT_EQ(order.pending(), 6U);
    EXPECT_EQ(flushed(order, 40), (Numbers{10, 20, 30}));
    EXPECT_EQ(order.pending(), 3U);
    order.push_copy(at(45), numbered(45), 1);
    order.push_copy(at(5), numbered(5), 1);  // late: first of the next delivery
    EXPECT_EQ(flushed(order, 51), (Numbers{5, 40, 45, 50}));
    EXPECT_EQ(flushed(order, 51), Numbers{});
    EXPECT_EQ(flushed(order, 100), Numbers{60});
    EXPECT_EQ(order.pending(), 0U);
}

TEST(TimeOrder, EqualTimesStayInOrderOfArrival) {
    TimeOrder order;
    const std::vector<int> times{7, 7, 9, 7, 8, 7, 9, 6, 7};
    for (std::size_t i = 0; i < times.size(); ++i) order.push_copy(at(times[i]), numbered(i), 0);
    EXPECT_EQ(flushed(order, 8), (Numbers{7, 0, 1, 3, 5, 8}));
    order.push_copy(at(9), numbered(9), 0);
    EXPECT_EQ(flushed(order, 10), (Numbers{4, 2, 6, 9}));
}

TEST(TimeOrder, ItemsCarryTheirBytesSizeAndTag) {
    TimeOrder order;
    const auto kept = numbered(1, 3);
    order.push_view(at(2), kept, 77);
    order.push_copy(at(1), numbered(2, 2), 88);
    std::vector<TimeOrder::Item> items;
    order.flush_all([&](const TimeOrder::Item& item) { items.push_back(item); });
    ASSERT_EQ(items.size(), 2U);
    EXPECT_EQ(items[0].tag, 88U);
    EXPECT_EQ(items[0].size, 16U);
    EXPECT_EQ(items[1].tag, 77U);
    EXPECT_EQ(items[1].data, kept.data()) << "a view is not copied";
    EXPECT_EQ(items[1].size, 24U);
}

TEST(TimeOrder, FlushAllDeliversTheExtremes) {
    TimeOrder order;
    order.push_copy(MonotonicTime::max(), numbered(1), 0);
    order.push_copy(MonotonicTime::min(), numbered(2), 0);
    EXPECT_EQ(flushed(order, 0), Numbers{2});
    order.flush_before(MonotonicTime::max(), [](const TimeOrder::Item&) { FAIL() << "not before the limit"; });
    order.push_copy(MonotonicTime::min(), numbered(3), 0);
    order.flush_before(MonotonicTime::min(), [](const TimeOrder::Item&) { FAIL() << "nothing is before this"; });
    Numbers all;
    order.flush_all([&](const TimeOrder::Item& item) { all.push_back(number_of(item)); });
    EXPECT_EQ(all, (Numbers{3, 1}));
}

TEST(TimeOrder, EmptyAndLargestRecords) {
    TimeOrder order;
    order.push_copy(at(2), {}, 1);
    const std::vector<std::byte> largest(65535, std::byte{0x5a});
    for (int i = 0; i < 9; ++i) order.push_copy(at(1), largest, 2);
    std::size_t records = 0;
    order.flush_all([&](const TimeOrder::Item& item) {
        ++records;
        if (item.tag == 1) {
            EXPECT_TRUE(item.bytes().empty());
        } else {
            EXPECT_TRUE(std::ranges::equal(item.bytes(), largest));
        }
    });
    EXPECT_EQ(records, 10U);
}

// What a plain sort says, over streams of every degree of disorder.
class TimeOrderAgainstSort : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Disorder, TimeOrderAgainstSort, testing::Values(0, 1, 3, 12, 1000));

TEST_P(TimeOrderAgainstSort, DeliversTheSame) {
    const auto disorder = static_cast<std::uint64_t>(GetParam());
    std::mt19937_64 random(disorder + 1);
    struct Expected {
        std::int64_t time;
        std::uint64_t number;
        bool operator==(const Expected&) const = default;
    };
    const auto by_time_and_arrival = [](const Expected& a, const Expected& b) {
        return a.time != b.time ? a.time < b.time : a.number < b.number;
    };
    for (int round = 0; round < 200; ++round) {
        TimeOrder order;
        std::vector<Expected> pending;
        std::uint64_t number = 0;
        std::int64_t base = 0;
        for (int drain = 0; drain < 8; ++drain) {
            const std::uint64_t rings = 1 + random() % 9;
            for (std::uint64_t ring = 0; ring < rings; ++ring) {
                std::int64_t now = base;
                for (std::uint64_t left = random() % 60; left > 0; --left) {
                    now += static_cast<std::int64_t>(random() % 4);
                    const auto back = static_cast<std::int64_t>(disorder == 0 ? 0 : random() % disorder);
                    const std::int64_t time = random() % 4 == 0 ? now - back : now;
                    order.push_copy(at(time), numbered(number, 1 + random() % 5), static_cast<std::uint32_t>(number));
                    pending.push_back({time, number++});
                }
            }
            const std::int64_t limit = base + static_cast<std::int64_t>(random() % 150);
            base += static_cast<std::int64_t>(random() % 100);
            std::ranges::sort(pending, by_time_and_arrival);
            const auto split = std::ranges::lower_bound(pending, limit, {}, &Expected::time);
            std::vector<Expected> got;
            order.flush_before(at(limit), [&](const TimeOrder::Item& item) {
                ASSERT_EQ(number_of(item), item.tag) << "another record's bytes";
                got.push_back({item.time.time_since_epoch().count(), number_of(item)});
            });
            ASSERT_EQ(got, std::vector<Expected>(pending.begin(), split)) << "round " << round << " drain " << drain;
            pending.erase(pending.begin(), split);
            std::ranges::sort(pending, {}, &Expected::number);
            ASSERT_EQ(order.pending(), pending.size());
        }
    }
}

TEST(TimeOrder, InputWithoutAnyOrderIsSorted) {
    TimeOrder order;
    std::mt19937_64 random(3);
    constexpr std::size_t kCount = 200'000;
    const auto record = numbered(0);
    for (std::size_t i = 0; i < kCount; ++i) order.push_view(at(static_cast<std::int64_t>(random() >> 1U)), record, 0);
    MonotonicTime last = MonotonicTime::min();
    std::size_t count = 0;
    order.flush_all([&](const TimeOrder::Item& item) {
        ASSERT_LE(last, item.time);
        last = item.time;
        ++count;
    });
    EXPECT_EQ(count, kCount);
}

// One drain of 8 rings, 100 ms apart; what lies in the last 20 ms stays for the next.
void drain(TimeOrder& order, std::int64_t& now, std::uint64_t& delivered) {
    std::array<std::byte, 264> record{};
    for (int ring = 0; ring < 8; ++ring) {
        for (std::int64_t i = 0; i < 50; ++i) order.push_copy(at(now + i * 2'000'000 + ring), record, 0);
    }
    now += 100'000'000;
    order.flush_before(at(now - 20'000'000), [&](const TimeOrder::Item&) { ++delivered; });
}

TEST(TimeOrder, SteadyStreamAllocatesNothing) {
    TimeOrder order;
    std::int64_t now = 0;
    std::uint64_t delivered = 0;
    for (int i = 0; i < 20; ++i) drain(order, now, delivered);
    const std::size_t held = order.bytes_held();
    const std::size_t allocations = test::allocations_in([&] {
        for (int i = 0; i < 300; ++i) drain(order, now, delivered);
    });
    EXPECT_EQ(allocations, 0U);
    EXPECT_EQ(order.bytes_held(), held);
    EXPECT_GT(delivered, 300U * 8 * 49);
}

TEST(TimeOrder, GivesMemoryBackAfterABurst) {
    TimeOrder order;
    const std::vector<std::byte> record(200);
    for (int i = 0; i < 200'000; ++i) order.push_copy(at(i), record, 0);
    EXPECT_GT(order.bytes_held(), 40U << 20U);
    order.flush_all([](const TimeOrder::Item&) {});
    EXPECT_LT(order.bytes_held(), 20U << 20U);
}

// A record with a time far in the future must not keep the memory of everything that came with it.
TEST(TimeOrder, OneRecordLeftBehindHoldsOneBlock) {
    TimeOrder order;
    std::int64_t now = 0;
    std::uint64_t delivered = 0;
    order.push_copy(at(INT64_MAX / 2), numbered(4711), 0);
    for (int i = 0; i < 400; ++i) drain(order, now, delivered);
    EXPECT_LT(order.bytes_held(), 4U << 20U);
    Numbers last;
    order.flush_all([&](const TimeOrder::Item& item) { last.push_back(number_of(item)); });
    EXPECT_EQ(last.back(), 4711U);
}

TEST(TimeOrder, SortsViewsWithoutASecondCopyOfTheIndex) {
    TimeOrder order;
    const auto record = numbered(0);
    constexpr std::size_t kCpus = 64;
    constexpr std::size_t kChunk = 500;
    constexpr std::size_t kCount = kCpus * kChunk * 10;
    for (std::size_t chunk = 0; chunk < kCount / kChunk; ++chunk) {
        for (std::size_t i = 0; i < kChunk; ++i) {
            order.push_view(at(static_cast<std::int64_t>((chunk / kCpus * kChunk + i) * 1000 + chunk % kCpus)), record,
                            0);
        }
    }
    const std::size_t before = order.bytes_held();
    EXPECT_LT(before, kCount * sizeof(TimeOrder::Item) * 11 / 10);
    std::size_t most = 0;
    order.flush_all([&](const TimeOrder::Item& item) {
        if (item.sequence % 4096 == 0) most = std::max(most, order.bytes_held());
    });
    EXPECT_LT(most, before + (before / 100));
}

}  // namespace
}  // namespace perfvigil::collector
