// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/ids.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace perfvigil {
namespace {

static_assert(!std::is_convertible_v<Pid, Tid>);
static_assert(!std::is_convertible_v<Pid, int>);
static_assert(!std::is_convertible_v<RuntimeAddress, FileOffset>);
static_assert(!std::is_convertible_v<FileOffset, LinkAddress>);
static_assert(sizeof(Pid) == sizeof(std::int32_t));

TEST(StrongId, ComparesAndHashesLikeItsNumber) {
    EXPECT_EQ(Pid{7}, Pid{7});
    EXPECT_LT(Pid{-1}, Pid{0});
    EXPECT_EQ(Pid{}.value, 0);
    const std::unordered_set<EventId> ids{EventId{1}, EventId{2}, EventId{1}};
    EXPECT_EQ(ids.size(), 2U);
    EXPECT_EQ(hash_value(EventId{9}), hash_value(EventId{9}));
}

}  // namespace
}  // namespace perfvigil
