// SPDX-License-Identifier: GPL-2.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/name_selection.hpp"
#include "analyzer/report.hpp"
#include "tests/support/profile_maker.hpp"

namespace perfvigil::analyzer {
namespace {

using test::ProfileMaker;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHostile = "<img src=x onerror=alert(1)>\"'&";

Profile hostile() {
    auto profile = ProfileMaker()
                       .add(std::string("main;") + std::string(kHostile), 6, {.comm = kHostile, .cgroup = kHostile})
                       .add("main;" + std::string(kHostile) + "@/lib/</script><script>alert(2)</script>", 4)
                       .add("main", 2)
                       .build();
    profile.id = profile.host.hostname = profile.host.os_release = profile.host.recorder = kHostile;
    profile.events[0].name = kHostile;
    profile.warnings.emplace_back(kHostile);
    profile.notes.emplace_back(kHostile);
    profile.degraded.push_back({std::string(kHostile), std::string(kHostile), std::string(kHostile)});
    profile.broken.push_back({.dso = std::string(kHostile), .samples = 3, .broken = 2});
    return profile;
}

TEST(ReportHtml, ForeignNamesShowAsText) {
    const auto page = report_html(select(hostile(), {.comms = {"*"}}), {});
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(page, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
}

TEST(ReportHtml, AsksForNothingOutside) {
    const auto page = report_html(hostile(), {});
    for (const auto* request : {"<link", "<iframe", "src=\"", "@import", "url(http", "fetch(", "XMLHttp"}) {
        EXPECT_THAT(page, Not(HasSubstr(request))) << request;
    }
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(ReportHtml, HoldsTablesChainsAndTheFlameGraph) {
    const auto page = report_html(ProfileMaker().add("main;parse;copy", 3).add("main;copy", 1).build(), {});
    EXPECT_THAT(page, HasSubstr("4 samples = 0.040 s at 100 Hz"));
    EXPECT_THAT(page, HasSubstr("<td><code>copy</code></td>"));
    EXPECT_THAT(page, HasSubstr("← <code>parse</code> ← <code>main</code>"));
    EXPECT_THAT(page, HasSubstr("<svg"));
    EXPECT_THAT(page, HasSubstr("--w:75.00%"));
    EXPECT_THAT(report_html(ProfileMaker().add("copy", 3).build(), {}), Not(HasSubstr("<svg")));
    EXPECT_THAT(report_html({}, {}), HasSubstr("</html>"));
    const auto groups = report_html(hostile(), {.by = {GroupKey::kComm, GroupKey::kUnit, GroupKey::kDso}});
    EXPECT_THAT(groups, HasSubstr("<th>comm / unit / dso</th>"));
    EXPECT_THAT(groups, Not(HasSubstr("<img")));
}

}  // namespace
}  // namespace perfvigil::analyzer
