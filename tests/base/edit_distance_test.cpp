// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/edit_distance.hpp"

#include <gtest/gtest.h>

namespace perfvigil {
namespace {

TEST(EditDistance, CountsEdits) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("kubelet", "kubelet"), 0U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("nginx", "ngnix"), 1U);  // neighbours swapped
    EXPECT_EQ(edit_distance("malloc", "mallocx"), edit_distance("mallocx", "malloc"));
}

}  // namespace
}  // namespace perfvigil
