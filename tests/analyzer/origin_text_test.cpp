// SPDX-License-Identifier: GPL-2.0-or-later
// Headers of reports say what is known, and have no holes where nothing is.
#include "analyzer/origin_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/input/folded.hpp"
#include "analyzer/input/perf_script.hpp"
#include "analyzer/report.hpp"
#include "tests/support/text_profile.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::HasSubstr;
using testing::Not;

TEST(OriginText, NamesWhatIsKnownOfTheHost) {
    ProfileHost host;
    EXPECT_EQ(host_text(host), "");
    host.architecture = "aarch64";
    host.cpus_online = 1;
    EXPECT_EQ(host_text(host), "aarch64, 1 CPU online");
    host.os_release = "6.1.0";
    host.cpus_online = 4;
    EXPECT_EQ(host_text(host), "Linux 6.1.0 aarch64, 4 CPUs online");
    host.hostname = "web1";
    host.cpu_description = "Zen";
    EXPECT_EQ(host_text(host), "host web1, Linux 6.1.0 aarch64, 4 CPUs online, Zen");
}

TEST(OriginText, NamesWhatIsKnownOfTheTime) {
    Profile profile;
    EXPECT_EQ(time_text(profile), "at an unknown time");
    profile.duration = std::chrono::milliseconds(1500);
    profile.host.recorder = "perf 6.1";
    EXPECT_EQ(time_text(profile), "at an unknown time, 1.5 s, recorded by perf 6.1");
    profile.end = WallTime(std::chrono::seconds(60));
    profile.partial = true;
    EXPECT_EQ(time_text(profile),
              "1970-01-01 00:00:00 to 1970-01-01 00:01:00 UTC, 1.5 s, recorded by perf 6.1; partial window");
}

TEST(OriginText, ReportsOfTextsHaveNoHoles) {
    const auto folded = profile_of_text("main;f 10\n", [](TextLines& lines) { return read_folded(lines); });
    const auto script = profile_of_text("# arch : x86_64\na 1 [000] 1.000000: 5 cycles: \n\t 1 f (/bin/a)\n",
                                        [](TextLines& lines) { return read_perf_script(lines); });
    const auto pages = {report_text(folded, {}), report_text(script, {}), report_html(folded, {}),
                        report_html(script, {})};
    for (const auto& page : pages) {
        for (const auto* hole : {"host ,", "Linux ,", "Linux  ", ", ,", ", 0.0 s", " 0 CPUs"}) {
            EXPECT_THAT(page, Not(HasSubstr(hole)));
        }
    }
    EXPECT_THAT(report_text(folded, {}), HasSubstr("\n  from an unknown host\n  at an unknown time\n"));
    EXPECT_THAT(report_text(script, {}), HasSubstr("\n  x86_64\n"));
}

}  // namespace
}  // namespace perfvigil::analyzer
