// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/diff_sides.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perfvigil::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kList = R"({"windows": [{"id": "20260131T120400Z-2"}, {"id": "20260131T120400Z"},
    {"id": "20260131T120300Z"}, {"id": "20260131T120200Z"}], "total": 4})";

std::string refusal(std::string_view list, std::string_view from, std::string_view to) {
    const auto ids = windows_between(list, from, to);
    return ids ? "found" : ids.error().message;
}

TEST(DiffSides, AStretchIsOldestFirst) {
    EXPECT_THAT(windows_between(kList, "20260131T120300Z", "20260131T120400Z").value(),
                ElementsAre("20260131T120300Z", "20260131T120400Z"));
    EXPECT_THAT(windows_between(kList, "20260131T120400Z", "latest").value(),
                ElementsAre("20260131T120400Z", "20260131T120400Z-2"));
    EXPECT_THAT(windows_between(kList, "latest", "latest").value(), ElementsAre("20260131T120400Z-2"));
}

TEST(DiffSides, WhatIsNoStretchIsNamed) {
    EXPECT_THAT(refusal(kList, "20260131T120400Z", "20260131T120200Z"), HasSubstr("ends before it begins"));
    EXPECT_THAT(refusal(kList, "20200131T120400Z", "latest"), HasSubstr("no window 20200131T120400Z"));
    EXPECT_THAT(refusal(R"({"windows": []})", "latest", "latest"), HasSubstr("no window latest"));
    for (const auto* broken : {"", "[]", "{}", R"({"windows": 1})"}) {
        EXPECT_THAT(refusal(broken, "latest", "latest"), HasSubstr("not one this program can read")) << broken;
    }
    EXPECT_THAT(refusal(R"({"windows": [1, {"id": 2}, {}]})", "latest", "latest"), HasSubstr("no window"));
}

TEST(DiffSides, AListNeedsNames) {
    const auto side = side_from("a.data,,b.data", "/nowhere.sock", {});
    ASSERT_FALSE(side);
    EXPECT_THAT(side.error().message, HasSubstr("a name is missing in the list"));
    EXPECT_FALSE(side_from("latest..latest", "/nowhere.sock", {}));
    EXPECT_FALSE(side_from("/no/such.data", "/nowhere.sock", {}));
}

}  // namespace
}  // namespace perfvigil::cli
