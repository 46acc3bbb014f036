// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/recording_options.hpp"

#include <gtest/gtest.h>

namespace perfvigil::collector {
namespace {

TEST(RecordingOptions, KnownEvents) {
    struct Case {
        const char* name;
        std::uint32_t type;
        std::uint64_t config;
    };
    for (const Case& c : {Case{"cycles", 0, 0},
                          {"cpu-cycles", 0, 0},
                          {"instructions", 0, 1},
                          {"cache-misses", 0, 3},
                          {"branch-misses", 0, 5},
                          {"ref-cycles", 0, 9},
                          {"cpu-clock", 1, 0},
                          {"task-clock", 1, 1},
                          {"page-faults", 1, 2},
                          {"faults", 1, 2},
                          {"context-switches", 1, 3},
                          {"cs", 1, 3},
                          {"major-faults", 1, 6},
                          {"r01c2", 4, 0x1c2},
                          {"rffffffffffffffff", 4, UINT64_MAX}}) {
        const auto event = parse_event(c.name);
        ASSERT_TRUE(event) << c.name;
        EXPECT_EQ(event->name, c.name);
        EXPECT_EQ(event->type, c.type) << c.name;
        EXPECT_EQ(event->config, c.config) << c.name;
    }
}

TEST(RecordingOptions, UnknownEventsAreNamedInTheError) {
    for (const char* name : {"", "cyclez", "r", "rxyz", "r1ffffffffffffffff", "dummy", "cycles:u", "cycles:",
                             "cycles:pppp", "cycles:pP", "cpu-clock:p", "page-faults:P", "r:p", ":p", "a\nb"}) {
        const auto event = parse_event(name);
        ASSERT_FALSE(event) << name;
        EXPECT_EQ(event.error().code, ErrorCode::kInvalid);
        EXPECT_EQ(event.error().message.find('\n'), std::string::npos);
    }
}

TEST(RecordingOptions, PrecisionIsAModifier) {
    const auto level = [](const char* name) {
        const auto event = parse_event(name);
        EXPECT_TRUE(event) << name;
        return event ? event->precise : 99;
    };
    EXPECT_EQ(level("cycles"), 0);
    EXPECT_EQ(level("cycles:p"), 1);
    EXPECT_EQ(level("branch-misses:pp"), 2);
    EXPECT_EQ(level("r01c2:ppp"), 3);
    const auto best = parse_event("instructions:P");
    ASSERT_TRUE(best);
    EXPECT_EQ(best->name, "instructions:P");
    EXPECT_EQ(best->config, 1U);
    EXPECT_EQ(best->precise, 3);
    EXPECT_TRUE(best->as_precise_as_possible);
    EXPECT_FALSE(parse_event("cycles:ppp")->as_precise_as_possible);
}

TEST(RecordingOptions, AStackDumpIsAMultipleOfEightBelowTheSizeOfARecord) {
    for (const std::uint32_t good : {8U, 512U, 8192U, 65528U}) EXPECT_TRUE(check_stack_dump(good)) << good;
    for (const std::uint32_t bad : {0U, 4U, 8191U, 65535U, 65536U, 1U << 31}) {
        const auto checked = check_stack_dump(bad);
        ASSERT_FALSE(checked) << bad;
        EXPECT_EQ(checked.error().code, ErrorCode::kInvalid);
        EXPECT_TRUE(checked.error().message.contains(std::to_string(bad))) << checked.error().message;
        EXPECT_TRUE(checked.error().message.contains("65528"));
    }
}

}  // namespace
}  // namespace perfvigil::collector
