// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/input/pprof.hpp"

#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/pprof_bytes.hpp"
#include "tests/support/profile_folds.hpp"

namespace perfvigil::analyzer {
namespace {

using namespace perfvigil::test;
using testing::Contains;
using testing::HasSubstr;

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

Profile read(const std::string& bytes) {
    auto profile = read_pprof(bytes_of(bytes));
    EXPECT_TRUE(profile.has_value()) << profile.error().message;
    return profile ? std::move(*profile) : Profile{};
}

std::string error_of(const std::string& bytes) {
    const auto profile = read_pprof(bytes_of(bytes));
    return profile ? "no error" : profile.error().message;
}

PprofBytes cpu_profile() {
    PprofBytes out;
    out.type("samples", "count");
    out.type("cpu", "nanoseconds");
    out.period_type("cpu", "nanoseconds");
    out.number(12, 10'000'000);
    out.number(9, 1'700'000'000'000'000'000);
    out.number(10, 30'000'000'000);
    out.mapping(1, "/bin/app", "0123456789abcdef");
    out.mapping(2, "[kernel.kallsyms]");
    out.function(1, "main");
    out.function(2, "outer");
    out.function(3, "inlined");
    out.function(4, "vfs_read");
    out.location(1, 1, {1});
    out.location(2, 1, {3, 2});
    out.location(3, 2, {4});
    out.location(4, 1, {});
    return out;
}

TEST(PprofInput, SamplesAndNanosecondsAreOneEvent) {
    auto out = cpu_profile();
    out.sample({2, 1}, {3, 30'000'000}, {{"comm", "app"}});
    out.sample({3, 1}, {4, 40'000'000}, {{"comm", "app"}, {"idle", "yes"}});
    out.sample({3, 2, 1}, {2, 20'000'000}, {{"thread", "app"}});
    out.sample({4, 1}, {1, 10'000'000}, {{"comm", "app"}, {"thread", "other"}, {"unit", "app.service"}});
    const auto profile = read(out.finish());
    ASSERT_EQ(profile.events.size(), 1U);
    EXPECT_EQ(profile.events[0].name, "cpu");
    EXPECT_EQ(profile.events[0].unit, WeightUnit::kNanoseconds);
    EXPECT_EQ(profile.events[0].samples, 10U);
    EXPECT_EQ(profile.events[0].weight, 100'000'000U);
    EXPECT_EQ(profile.events[0].idle_samples, 4U);
    EXPECT_EQ(profile.events[0].rate, 100U);
    EXPECT_EQ(folds_of(profile), (Folds{{"app;main;outer;inlined", 30'000'000},
                                        {"app;main;outer;inlined;vfs_read", 20'000'000},
                                        {"app;main;vfs_read", 40'000'000},
                                        {"app;main;[unknown]", 10'000'000}}));
    EXPECT_EQ(profile.duration, std::chrono::seconds(30));
    EXPECT_EQ(profile.end - profile.start, std::chrono::seconds(30));
    EXPECT_EQ(profile.start.time_since_epoch(), std::chrono::nanoseconds(1'700'000'000'000'000'000));
    for (const auto& function : profile.functions) EXPECT_EQ(function.kernel, function.name == "vfs_read");
    bool unit = false;
    for (const auto& context : profile.contexts) unit |= context.unit == "app.service";
    EXPECT_TRUE(unit);
    ASSERT_EQ(profile.dsos.size(), 1U);
    EXPECT_EQ(profile.dsos[0].name, "/bin/app");
    EXPECT_EQ(profile.dsos[0].build_id, "0123456789abcdef");
}

TEST(PprofInput, EachOtherTypeIsAnEventOfItsOwn) {
    PprofBytes out;
    out.type("alloc_objects", "count");
    out.type("alloc_space", "bytes");
    out.type("cycles_sample", "count");
    out.type("cycles_event", "count");
    out.type("wall", "microseconds");
    out.type("faults", "count");
    out.function(1, "f");
    out.location(1, 0, {1});
    out.sample({1}, {2, 4096, 5, 90'000, 7, 3});
    const auto profile = read(out.finish());
    ASSERT_EQ(profile.events.size(), 4U);
    EXPECT_EQ(profile.events[0].name, "alloc_space");
    EXPECT_EQ(profile.events[0].samples, 2U);
    EXPECT_EQ(profile.events[0].weight, 4096U);
    EXPECT_EQ(profile.events[1].name, "cycles");
    EXPECT_EQ(profile.events[1].unit, WeightUnit::kCycles);
    EXPECT_EQ(profile.events[1].samples, 5U);
    EXPECT_EQ(profile.events[1].weight, 90'000U);
    EXPECT_EQ(profile.events[2].name, "wall");
    EXPECT_EQ(profile.events[2].weight, 7'000U);
    EXPECT_EQ(profile.events[2].samples, 1U);
    EXPECT_EQ(profile.events[3].name, "faults");
    EXPECT_EQ(profile.events[3].samples, 3U);
}

TEST(PprofInput, WhatIsWrongIsNamed) {
    auto negative = cpu_profile();
    negative.sample({1}, {-3, -30});
    EXPECT_THAT(error_of(negative.finish()), HasSubstr("difference of two profiles"));
    auto odd = cpu_profile();
    odd.sample({1}, {1});
    odd.sample({1}, {1, 10});
    odd.sample({77}, {1, 10});
    const auto profile = read(odd.finish());
    EXPECT_THAT(profile.warnings, Contains(HasSubstr("1 samples have another number of values")));
    EXPECT_EQ(profile.events[0].samples, 2U);
    EXPECT_THAT(error_of(""), HasSubstr("names no type"));
    auto whole = cpu_profile();
    whole.sample({2, 1}, {3, 30'000'000}, {{"comm", "app"}});
    const auto bytes = whole.finish();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto cut = read_pprof(bytes_of(bytes.substr(0, size)));
        if (!cut) {
            EXPECT_GT(cut.error().message.size(), 20U);
        }
    }
}

TEST(PprofInput, IsRecognizedByItsFields) {
    auto out = cpu_profile();
    out.sample({2, 1}, {3, 30'000'000});
    const auto bytes = out.finish();
    EXPECT_TRUE(looks_like_pprof(bytes_of(bytes)));
    for (const std::string text : {"", "\n\n", "a;b;c 1\n", "# comment\nx", "PERFILE2",
                                   "\x7f"
                                   "ELF\x02\x01\x01"}) {
        EXPECT_FALSE(looks_like_pprof(bytes_of(text))) << text;
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
