// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/name_selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/profile_maker.hpp"
#include "tests/support/random_profile.hpp"

namespace perfvigil::analyzer {
namespace {

using test::ProfileMaker;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr auto kTick = ProfileMaker::kTick;

//  cpu-clock: web (nginx.service) 4 + 2, db (pg.service) 3, idle 9; cycles: web 5
Profile host() {
    const ProfileMaker::Who web{.comm = "web", .cgroup = "/system.slice/nginx.service"};
    const ProfileMaker::Who db{.comm = "db 1", .cgroup = "/system.slice/pg.service"};
    ProfileMaker maker;
    maker.add("main;parse;copy@/lib/libc.so.6", 4, web)
        .add("main;parse", 2, web)
        .add("main;scan;read@[kernel.kallsyms]", 3, db)
        .idle("idle@[kernel.kallsyms]", 9)
        .event("cycles:ppp", WeightUnit::kCycles)
        .add("main;parse", 5, web);
    auto profile = maker.build();
    profile.cpus.resize(1);
    profile.moments.resize(2);
    for (auto& moment : profile.moments) {
        moment.totals.resize(2);
        moment.totals[1].samples = 77;
        moment.top = {{.event = 0, .function = 1, .samples = 6}, {.event = 1, .function = 1, .samples = 5}};
    }
    return profile;
}

std::vector<std::string> comms(const Profile& profile) {
    std::vector<std::string> names;
    for (const auto& context : profile.contexts) names.push_back(context.comm);
    return names;
}

std::vector<std::string> functions(const Profile& profile) {
    std::vector<std::string> names;
    for (const auto& function : profile.functions) names.push_back(function.name);
    return names;
}

TEST(NameSelection, NothingAskedForNothingChanged) { EXPECT_EQ(select(host(), {}), host()); }

TEST(NameSelection, CommKeepsItsSamplesAndTheWholesSize) {
    const auto profile = select(host(), {.comms = {"web"}});
    EXPECT_EQ(profile.filter, "--comm web");
    ASSERT_EQ(profile.events.size(), 2U);
    EXPECT_EQ(profile.events[0].samples, 6U);
    EXPECT_EQ(profile.events[0].weight, 6 * kTick);
    EXPECT_EQ(profile.events[0].idle_samples, 0U);
    EXPECT_EQ(profile.events[0].whole_samples, 18U);
    EXPECT_EQ(profile.events[0].whole_weight, 18 * kTick);
    EXPECT_EQ(profile.events[1].samples, 5U);
    EXPECT_EQ(profile.events[1].whole_samples, 5U);
    EXPECT_THAT(comms(profile), ElementsAre("web"));
    EXPECT_THAT(functions(profile), ElementsAre("main", "parse", "copy"));
    EXPECT_EQ(profile.stacks.size(), 2U);
    EXPECT_THAT(profile.warnings, IsEmpty());
    // Slices cannot be divided by command; CPUs stay, and it is said whose they are.
    EXPECT_THAT(profile.moments, IsEmpty());
    EXPECT_EQ(profile.cpus.size(), 1U);
    EXPECT_THAT(profile.notes, ElementsAre(HasSubstr("of everything that ran")));
}

TEST(NameSelection, DsoAndSymbolAreOfTheSampledFunctionParentIsAnyCaller) {
    EXPECT_EQ(select(host(), {.dsos = {"libc.so.6"}}).events[0].samples, 4U);
    EXPECT_EQ(select(host(), {.dsos = {"/lib/libc.so.6"}}).events[0].samples, 4U);
    EXPECT_EQ(select(host(), {.dsos = {"[kernel.kallsyms]"}}).events[0].samples, 12U);
    EXPECT_EQ(select(host(), {.dsos = {"[kernel.kallsyms]"}}).events[0].idle_samples, 9U);
    EXPECT_EQ(select(host(), {.symbols = {"parse"}}).events[0].samples, 2U);
    EXPECT_EQ(select(host(), {.parents = {"parse"}}).events[0].samples, 4U);
    EXPECT_EQ(select(host(), {.parents = {"main"}}).events[0].samples, 9U);
    EXPECT_EQ(select(host(), {.parents = {"copy"}}).events[0].samples, 0U);
}

TEST(NameSelection, UnitsWithAndWithoutTheirSuffix) {
    for (const auto* name : {"nginx", "nginx.service", "ng*"}) {
        EXPECT_EQ(select(host(), {.units = {name}}).events[0].samples, 6U) << name;
    }
}

TEST(NameSelection, KindsAreAndNamesAreOr) {
    const auto both = select(host(), {.comms = {"web", "db*"}, .symbols = {"read", "parse"}});
    EXPECT_EQ(both.events[0].samples, 5U);
    EXPECT_EQ(both.events[1].samples, 5U);
    EXPECT_EQ(both.filter, "--comm 'web,db*' --symbol read,parse");
    EXPECT_EQ(select(host(), {.symbols = {"copy"}, .parents = {"scan"}}).samples.size(), 0U);
}

TEST(NameSelection, EventsAloneKeepTheirSlices) {
    const auto profile = select(host(), {.events = {"cycles"}});
    ASSERT_EQ(profile.events.size(), 1U);
    EXPECT_EQ(profile.events[0].name, "cycles:ppp");
    EXPECT_EQ(profile.events[0].samples, 5U);
    EXPECT_EQ(profile.events[0].whole_samples, 5U);
    for (const auto& sample : profile.samples) EXPECT_EQ(sample.event, 0U);
    ASSERT_EQ(profile.moments.size(), 2U);
    ASSERT_EQ(profile.moments[0].totals.size(), 1U);
    EXPECT_EQ(profile.moments[0].totals[0].samples, 77U);
    ASSERT_EQ(profile.moments[0].top.size(), 1U);
    EXPECT_EQ(profile.functions[profile.moments[0].top[0].function].name, "parse");
    EXPECT_THAT(profile.notes, IsEmpty());
}

TEST(NameSelection, AnEarlierFiltersWholeStays) {
    auto once = host();
    once.filter = "--cpu 0";
    once.events[0].whole_samples = 1000;
    once.events[0].whole_weight = 1000 * kTick;
    const auto twice = select(std::move(once), {.comms = {"web"}});
    EXPECT_EQ(twice.filter, "--cpu 0 --comm web");
    EXPECT_EQ(twice.events[0].samples, 6U);
    EXPECT_EQ(twice.events[0].whole_samples, 1000U);
    EXPECT_EQ(twice.events[0].whole_weight, 1000 * kTick);
}

TEST(NameSelection, SelectingInStepsIsSelectingAtOnce) {
    const auto steps = select(select(host(), {.comms = {"web"}}), {.symbols = {"copy"}});
    auto once = select(host(), {.comms = {"web"}, .symbols = {"copy"}});
    EXPECT_EQ(steps.filter, once.filter);
    EXPECT_EQ(steps.samples, once.samples);
    EXPECT_EQ(steps.events, once.events);
    EXPECT_EQ(steps.functions, once.functions);
}

TEST(NameSelection, APatternThatMatchesNothingNamesWhatThereIs) {
    EXPECT_THAT(select(host(), {.comms = {"wen"}}).warnings,
                ElementsAre("--comm wen matches nothing; there is web (and 2 more).", "No sample passes --comm wen."));
    EXPECT_THAT(select(host(), {.comms = {"web", "qqqqqqq"}}).warnings,
                ElementsAre("--comm qqqqqqq matches nothing; there is web, swapper, db 1."));
    EXPECT_THAT(select(host(), {.events = {"cycels"}}).warnings,
                testing::Contains(HasSubstr("there is cpu-clock, cyc")));
    EXPECT_THAT(select(host(), {.symbols = {"main"}}).warnings,
                ElementsAre("No sample passes --symbol main. --symbol selects by the function that was sampled; "
                            "--parent by any of its callers."));
    Profile empty;
    EXPECT_THAT(select(empty, {.units = {"x"}}).warnings, testing::Contains(HasSubstr("holds no such names")));
}

TEST(NameSelection, BrokenChainsAreCountedAnew) {
    ProfileMaker maker;
    maker.add("a@/lib/one;b@/lib/two", 3, {.comm = "x"}, kStackBroken)
        .add("a@/lib/one;b@/lib/two;k@[kernel.kallsyms]", 2, {.comm = "x"})
        .add("b@/lib/two", 7, {.comm = "y"}, kStackBroken);
    auto profile = maker.build();
    profile.broken = {{.dso = "/lib/two", .samples = 12, .broken = 7}, {.dso = "/lib/one", .samples = 5, .broken = 3}};
    EXPECT_THAT(select(profile, {.comms = {"x"}}).broken,
                UnorderedElementsAre(BrokenStacks{.dso = "/lib/two", .samples = 5, .broken = 0},
                                     BrokenStacks{.dso = "/lib/one", .samples = 5, .broken = 3}));
    EXPECT_THAT(select(profile, {.comms = {"*"}}).broken, testing::UnorderedElementsAreArray(profile.broken));
}

// Whatever the profile, what is left refers to what is there, and a name and everything but that name are the whole.
TEST(NameSelection, AnyProfileStaysConsistent) {
    std::mt19937_64 random(20261129);
    for (int round = 0; round < 300; ++round) {
        auto profile = test::random_profile(random);
        profile.filter.clear();
        for (auto& sample : profile.samples) sample.samples %= 1000;
        const auto part = select(profile, {.comms = {"?*"}, .parents = {"*"}});
        for (const auto& sample : part.samples) {
            ASSERT_LT(sample.event, part.events.size());
            ASSERT_LT(sample.context, part.contexts.size());
            ASSERT_LT(sample.stack, part.stacks.size());
            ASSERT_GT(part.stacks[sample.stack].functions.size(), 1U);
            ASSERT_FALSE(part.contexts[sample.context].comm.empty());
        }
        for (const auto& stack : part.stacks) {
            for (const auto function : stack.functions) ASSERT_LT(function, part.functions.size());
        }
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
