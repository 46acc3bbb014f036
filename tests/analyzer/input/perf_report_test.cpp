// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/perf_report.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/observation_warnings.hpp"
#include "tests/support/profile_folds.hpp"
#include "tests/support/text_profile.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::Contains;
using testing::HasSubstr;

Profile read(std::string_view text) { return profile_of_text(text, read_perf_report); }

const std::string kHead =
    "# To display the perf.data header info, please use --header/--header-only options.\n"
    "#\n#\n# Total Lost Samples: 0\n#\n"
    "# Samples: 7K of event 'cpu-clock:pppH'\n"
    "# Event count (approx.): 2000000000\n#\n";

TEST(PerfReport, FlatRows) {
    const auto profile =
        read(kHead +
             "# Overhead  Command        Shared Object      Symbol                           \n"
             "# ........  .............  .................  .................................\n#\n"
             "    50.00%  my prog        ht_staticfull      [.] array_get_by_key(int, char)\n"
             "    25.50%  my prog        [kernel.kallsyms]  [k] __random\n"
             "    10.00%  bash           [kernel.kallsyms]  [k] 0xffffffffb85c9d65\n"
             "\n\n#\n# (Tip: Compare performance results with: perf diff [<old file> <new file>])\n#\n");
    ASSERT_EQ(profile.events.size(), 1U);
    EXPECT_TRUE(profile.rounded);
    EXPECT_EQ(profile.events[0].name, "cpu-clock:pppH");
    EXPECT_EQ(profile.events[0].unit, WeightUnit::kNanoseconds);
    EXPECT_EQ(profile.events[0].weight, 2000000000U);
    EXPECT_EQ(profile.events[0].samples, 7000U);
    EXPECT_EQ(folds_of(profile), (Folds{{"my prog;array_get_by_key(int, char)", 1000000000},
                                        {"my prog;__random", 510000000},
                                        {"bash;[unknown]", 200000000},
                                        {"[not shown]", 290000000}}));
    EXPECT_EQ(sample_folds_of(profile).at("my prog;__random"), 1785U);
    for (const auto& function : profile.functions) {
        if (function.name == "__random") {
            EXPECT_TRUE(function.kernel);
        }
        if (function.name == "[unknown]") {
            EXPECT_EQ(function.reason, UnknownReason::kOutsideSymbols);
        }
    }
    EXPECT_THAT(profile.warnings, Contains(HasSubstr("made from a printed report")));
    EXPECT_THAT(profile.warnings, Contains(HasSubstr("counts of samples are rounded too")));
}

TEST(PerfReport, SelfCountsWhereChildrenStandBesideIt) {
    const auto profile = read(kHead +
                              "# Children      Self  Command  Shared Object      Symbol\n"
                              "# ........  ........  .......  .................  ..........................\n#\n"
                              "    97.00%     0.00%  app      app                [.] main\n"
                              "            |\n"
                              "            ---main\n"
                              "               |          \n"
                              "               |--60.00%--leaf\n"
                              "               |          \n"
                              "                --37.00%--other\n"
                              "\n"
                              "    60.00%    60.00%  app      app                [.] leaf\n"
                              "    37.00%    40.00%  app      app                [.] other\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"app;leaf", 1200000000}, {"app;other", 800000000}}));
    EXPECT_THAT(profile.warnings, Contains(HasSubstr("chains that the report prints were passed over")));
}

TEST(PerfReport, FoldedChainsFollowTheirRows) {
    const auto profile = read(kHead +
                              "# Overhead  Command  Shared Object  Symbol\n"
                              "# ........  .......  .............  ......\n#\n"
                              "    60.00%  app      app            [.] leaf\n"
                              "60.00% leaf;main;_start\n"
                              "    40.00%  app      app            [.] other\n"
                              "40.00% other;main;_start\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"app;leaf", 1200000000}, {"app;other", 800000000}}));
}

TEST(PerfReport, AFilterOfOneValueTakesItsColumn) {
    const auto profile = read(
        "# comm: gzip\n# dso: [kernel.kallsyms]\n"
        "# Samples: 200  of event 'cycles'\n"
        "# Event count (approx.): 1000000\n#\n"
        "# Overhead  Symbol\n"
        "# ........  ......................\n#\n"
        "    30.00%  [k] copy_page\n"
        "    20.00%  [k] clear_page_erms\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"gzip;copy_page", 300000}, {"gzip;clear_page_erms", 200000}}));
    EXPECT_EQ(profile.filter, "--comm gzip --dso [kernel.kallsyms]");
    EXPECT_EQ(profile.events[0].weight, 500000U);
    EXPECT_EQ(profile.events[0].whole_weight, 1000000U);
    EXPECT_EQ(profile.events[0].whole_samples, 200U);
    EXPECT_EQ(profile.functions[0].dso, "[kernel.kallsyms]");
    EXPECT_TRUE(profile.functions[0].kernel);
}

TEST(PerfReport, SeparatedColumns) {
    const auto profile = read(
        "# Samples: 4  of event 'cycles'\n"
        "# Event count (approx.): 400\n#\n"
        "# Overhead,Samples,Command    ,Shared Object,Symbol\n"
        " 75.00%,3,app        ,app          ,[.] f<int. char>\n"
        " 25.00%,1,app        ,libc.so.6    ,[.] g, h\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"app;f<int. char>", 300}, {"app;g, h", 100}}));
    EXPECT_EQ(sample_folds_of(profile), (Folds{{"app;f<int. char>", 3}, {"app;g, h", 1}}));
}

TEST(PerfReport, OldReportsCountEvents) {
    const auto profile = read(
        "# hostname : old\n# Events: 898  cycles\n#\n"
        "# Overhead\x01Samples\x01"
        "Command\x01Shared Object\x01Symbol\n"
        "99.01\x01"
        "883\x01hellotest\x01hellotest        \x01[.] fib_rec\n"
        "0.86\x01"
        "15\x01hellotest\x01[kernel.kallsyms]\x01[k] cmpxchg_double_slab\n");
    EXPECT_EQ(folds_of(profile),
              (Folds{{"hellotest;fib_rec", 9901}, {"hellotest;cmpxchg_double_slab", 86}, {"[not shown]", 13}}));
    EXPECT_EQ(sample_folds_of(profile).at("hellotest;fib_rec"), 883U);
    EXPECT_EQ(profile.events[0].samples, 898U);
    EXPECT_EQ(profile.events[0].unit, WeightUnit::kEvents);
    EXPECT_EQ(profile.host.hostname, "old");
}

TEST(PerfReport, EventsOfTheSameNameStayApartAndPeriodsAreExact) {
    const std::string section =
        "# Samples: 2  of event 'cpu-clock'\n# Event count (approx.): 20202020\n#\n"
        "# Overhead       Samples        Period  Command  Shared Object  Symbol\n"
        "# ........  ............  ............  .......  .............  ......\n#\n"
        "    50.00%             1      10101010  app      app            [.] f\n"
        "    50.00%             1      10101010  app      app            [.] g\n";
    const auto profile = read(section + "\n\n" + section);
    ASSERT_EQ(profile.events.size(), 2U);
    EXPECT_EQ(folds_of(profile, 1), (Folds{{"app;f", 10101010}, {"app;g", 10101010}}));
    EXPECT_EQ(profile.events[0].samples, 2U);
}

TEST(PerfReport, GroupsHaveAPercentagePerMember) {
    const auto profile = read(
        "# Samples: 20  of events 'anon group { cycles, cpu/event=0x1,umask=0x2/ }'\n"
        "# Event count (approx.): 3000\n#\n"
        "#         Overhead  Command  Shared Object  Symbol\n"
        "# ................  .......  .............  ......\n#\n"
        "    60.00%  10.00%  app      app            [.] f\n"
        "    40.00%  90.00%  app      app            [.] g\n");
    ASSERT_EQ(profile.events.size(), 2U);
    EXPECT_EQ(profile.events[1].name, "cpu/event=0x1,umask=0x2/");
    EXPECT_EQ(folds_of(profile, 0), (Folds{{"app;f", 6000}, {"app;g", 4000}}));
    EXPECT_EQ(folds_of(profile, 1), (Folds{{"app;f", 1000}, {"app;g", 9000}}));
    EXPECT_THAT(profile.warnings, Contains(HasSubstr("hundredths of a percent")));
}

TEST(PerfReport, WideNamesMoveWhatFollows) {
    const auto profile = read(
        "# Samples: 10  of event 'cycles'\n# Event count (approx.): 1000\n#\n"
        "# Overhead  Pid:Command  Shared Object  Symbol\n"
        "# ........  ...........  .............  ......\n#\n"
        "    60.00%   12:größer  app            [.] f\n"
        "    40.00%   13:a very long thread  libc.so.6      [.] g\n");
    EXPECT_EQ(folds_of(profile), (Folds{{"größer;f", 600}, {"a very long thread;g", 400}}));
}

TEST(PerfReport, LostSamplesAreSaid) {
    const auto profile = read(
        "# Total Lost Samples: 12\n#\n"
        "# Samples: 10  of event 'cycles'\n# Event count (approx.): 1000\n#\n"
        "# Overhead  Symbol\n# ........  ......\n#\n   100.00%  [.] f\n");
    EXPECT_EQ(profile.events[0].lost, 12U);
    EXPECT_EQ(warnings_of(profile).size(), profile.warnings.size() + 1) << "it is over 1 %, and said once";
}

TEST(PerfReport, RoundedCounts) {
    EXPECT_EQ(parse_rounded_count("12")->count, 12U);
    EXPECT_TRUE(parse_rounded_count("12")->exact);
    EXPECT_EQ(parse_rounded_count("12K")->count, 12000U);
    EXPECT_FALSE(parse_rounded_count("12K")->exact);
    EXPECT_EQ(parse_rounded_count("3M")->count, 3000000U);
    EXPECT_FALSE(parse_rounded_count("").has_value());
    EXPECT_FALSE(parse_rounded_count("K").has_value());
    EXPECT_FALSE(parse_rounded_count("99999999999999999999").has_value());
}

TEST(PerfReport, NothingButNoiseIsAnError) {
    const auto noise = try_text("Failed to open /init, continuing without symbols\n", read_perf_report);
    ASSERT_FALSE(noise.has_value());
    EXPECT_THAT(noise.error().message, HasSubstr("line 1: \"Failed to open /init"));
}

}  // namespace
}  // namespace perfvigil::analyzer
