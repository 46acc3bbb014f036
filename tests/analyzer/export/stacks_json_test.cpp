// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/stacks_json.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "tests/support/export_profile.hpp"

namespace perfvigil::analyzer {
namespace {

namespace json = boost::json;

TEST(StacksJson, HoldsWhatAScriptNeeds) {
    const auto parsed = json::parse(stacks_json(test::export_profile(), {0}, IdleRows::kExclude));
    const auto expected = json::parse(R"({
        "schema": 1, "id": "perf.data", "start": "1970-01-01T00:16:40.000Z", "end": "1970-01-01T00:16:50.000Z",
        "duration_seconds": 1E1, "hostname": "host", "filter": "", "warnings": ["1 sample was lost"],
        "events": [{"name": "cpu-clock", "unit": "nanoseconds", "samples": 10, "period": 100, "idle_samples": 5,
                    "idle_period": 50, "lost": 0}],
        "functions": [{"symbol": "main", "dso": "/bin/x", "kernel": false, "build_id": "00aaff"},
                      {"symbol": "work", "dso": "/bin/x", "kernel": false, "build_id": "00aaff"},
                      {"symbol": "[unknown]", "dso": "/lib/libc.so.6", "kernel": false, "unknown": "stripped"},
                      {"symbol": "read", "dso": "[kernel.kallsyms]", "kernel": true}],
        "samples": [{"event": "cpu-clock", "comm": "web", "unit": "web.service", "container": "0123456789ab",
                     "samples": 3, "period": 30, "stack": [1, 0]},
                    {"event": "cpu-clock", "comm": "web", "unit": "web.service", "container": "0123456789ab",
                     "samples": 2, "period": 20, "stack": [3, 2, 0]}]})");
    EXPECT_EQ(parsed, expected) << parsed;
}

TEST(StacksJson, EventsTogetherAndIdleMarked) {
    const auto parsed = json::parse(stacks_json(test::export_profile(), {0, 1}, IdleRows::kInclude));
    EXPECT_EQ(parsed.at("events").as_array().size(), 2U);
    const auto& samples = parsed.at("samples").as_array();
    ASSERT_EQ(samples.size(), 4U);
    EXPECT_TRUE(samples[2].at("idle").as_bool());
    EXPECT_EQ(samples[3].at("event").as_string(), "cycles");
}

TEST(StacksJson, ProcessesAndWholesWhereThereAreAny) {
    auto profile = test::export_profile();
    profile.contexts[0].pid = Pid{7};
    profile.contexts[0].tid = Tid{8};
    profile.contexts[0].cpu = CpuId{3};
    profile.filter = "--pid 7";
    profile.events[1].whole_samples = 9;
    profile.events[1].whole_weight = 9000;
    const auto parsed = json::parse(stacks_json(profile, {1}, IdleRows::kExclude));
    const auto& sample = parsed.at("samples").as_array().at(0);
    EXPECT_EQ(sample.at("pid").to_number<int>(), 7);
    EXPECT_EQ(sample.at("tid").to_number<int>(), 8);
    EXPECT_EQ(sample.at("cpu").to_number<int>(), 3);
    EXPECT_EQ(parsed.at("filter").as_string(), "--pid 7");
    EXPECT_EQ(parsed.at("events").as_array().at(0).at("whole_period").to_number<int>(), 9000);
}

}  // namespace
}  // namespace perfvigil::analyzer
