// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "collector/capture_features.hpp"

namespace perfvigil::collector {
namespace {

void append_file(ByteWriter& to, std::string_view text) {
    to.u64(text.size());
    to.text(text);
}

std::vector<std::byte> tracing_data(std::uint32_t systems) {
    std::vector<std::byte> out;
    ByteWriter to(out);
    to.text(std::string_view("\x17\x08\x44tracing0.6\0", 14));
    to.u8(std::endian::native == std::endian::big ? 1 : 0);
    to.u8(8);
    to.u32(4096);
    to.text(std::string_view("header_page\0", 12));
    append_file(to, "field: u64 timestamp\n");
    to.text(std::string_view("header_event\0", 13));
    append_file(to, "# compressed entry header\n");
    to.u32(1);
    append_file(to, "name: function\nID: 1\nformat:\n");
    to.u32(systems);
    to.text(std::string_view("sched\0", 6));
    to.u32(2);
    append_file(to, "name: sched_switch\nID: 314\nformat:\n\tfield:char comm; name: not this\nID: 9\n");
    append_file(to, "name: nameless of no use\nformat:\n");
    return out;
}

TEST(TracepointNames, AreReadFromTheFormats) {
    const auto names = read_tracepoint_names(tracing_data(1));
    ASSERT_EQ(names.size(), 2U);
    EXPECT_EQ(names[0].name, "ftrace:function");
    EXPECT_EQ(names[1].name, "sched:sched_switch");
    EXPECT_EQ(names[1].id, 314U);
}

TEST(TracepointNames, CutAnywhereTheRestIsLeftOut) {
    const auto whole = tracing_data(UINT32_MAX);
    for (std::size_t length = 0; length <= whole.size(); ++length)
        EXPECT_LE(read_tracepoint_names(Bytes(whole).first(length)).size(), 2U);
    EXPECT_EQ(read_tracepoint_names(whole).size(), 2U);
}

}  // namespace
}  // namespace perfvigil::collector
