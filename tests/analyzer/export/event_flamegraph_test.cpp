// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/event_flamegraph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/export_profile.hpp"
#include "tests/support/outside_parser.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(EventFlamegraph, ThreadsAreOutermostAndKindsHaveTheirColours) {
    const auto profile = test::export_profile();
    const auto svg = event_flamegraph(profile, 0, {});
    EXPECT_THAT(svg, HasSubstr("perf.data on host"));
    EXPECT_THAT(svg, HasSubstr("cpu-clock: 50 ns, 5 samples"));
    EXPECT_THAT(svg, HasSubstr("<g data-depth=\"1\"><title>web\nthread\ntotal 100.00 %, 50 ns, 5 samples"));
    EXPECT_THAT(svg, HasSubstr("<title>[libc.so.6]\n/lib/libc.so.6, no name: stripped\ntotal 40.00 %"));
    EXPECT_THAT(svg, HasSubstr("fill=\"" + frame_colour(FrameKind::kKernel, "read").hex() + "\""));
    EXPECT_THAT(svg, HasSubstr(">kernel</text>"));
    EXPECT_THAT(svg, Not(HasSubstr(">just-in-time code</text>")));  // there is none
    EXPECT_THAT(svg, Not(HasSubstr("[no name]")));                  // idle
    EXPECT_THAT(event_flamegraph(profile, 0, {.idle = IdleRows::kInclude}), HasSubstr("[no name]"));
}

TEST(EventFlamegraph, AFileIsXml) {
    const test::TempFolder folder;
    (void)folder.write("a.svg", event_flamegraph_file(test::export_profile(), 0, {}));
    Profile empty;
    empty.events.resize(1);
    (void)folder.write("b.svg", event_flamegraph_file(empty, 0, {}));
    EXPECT_EQ(test::xml_verdict(folder.path().string(), ".svg"), "2\n");
    // What says so when it is not.
    (void)folder.write("c.svg", "<svg><g></svg>");
    EXPECT_THAT(test::xml_verdict(folder.path().string(), ".svg"), HasSubstr("c.svg: mismatched tag"));
}

TEST(EventFlamegraph, APageHoldsEachEvent) {
    auto profile = test::export_profile();
    profile.warnings.push_back("<b>odd</b>");
    const auto page = flamegraph_page(profile, {0, 1}, {});
    EXPECT_THAT(page, HasSubstr("<h1>perf.data</h1>"));
    EXPECT_THAT(page, HasSubstr("<li>&lt;b&gt;odd&lt;/b&gt;</li>"));
    EXPECT_THAT(page, HasSubstr("cycles: 7.00 k cycles, 7 samples"));
    std::size_t pictures = 0;
    for (auto at = page.find("<svg xmlns"); at != std::string::npos; at = page.find("<svg xmlns", at + 1)) ++pictures;
    EXPECT_EQ(pictures, 2U);
}

}  // namespace
}  // namespace perfvigil::analyzer
