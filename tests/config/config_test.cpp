// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/fd.hpp"
#include "config/keys.hpp"
#include "config/trigger_format.hpp"
#include "tests/support/paths.hpp"

namespace perfvigil::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kShipped = std::string(test::kSourceDir) + "/config/perfvigil.yaml";

std::vector<std::string> texts(const Loaded& loaded) {
    std::vector<std::string> all;
    for (const auto& fault : loaded.faults) all.push_back(to_text(fault, "x.yaml"));
    return all;
}

// Every key as "name=value": how options are compared, so that a field without a key cannot hide behind equality.
std::vector<std::string> dump(const Options& options) {
    std::vector<std::string> all;
    for (const auto& key : keys()) all.push_back(std::string(key.name) + "=" + key.print(options));
    return all;
}

TEST(ShippedConfigTest, IsWhatTheDefaultsPrint) {
    const std::string expected = print_yaml(Options{});
    if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(kShipped) << expected;
    const auto shipped = read_file(kShipped);
    ASSERT_TRUE(shipped);
    EXPECT_EQ(*shipped, expected) << "UPDATE_GOLDEN=1 writes config/perfvigil.yaml anew";
}

TEST(ShippedConfigTest, LoadsAsTheDefaultsWithEveryKey) {
    const auto loaded = load_file(kShipped);
    EXPECT_THAT(texts(loaded), IsEmpty());
    EXPECT_EQ(dump(loaded.options), dump(Options{}));
    const auto text = read_file(kShipped).value();
    for (const auto& key : keys()) {
        const std::string leaf(key.name.substr(key.name.rfind('.') + 1));
        const std::string before = key.name == leaf ? "\n" : " ";
        EXPECT_THAT(text, HasSubstr(before + leaf + ": " + key.print(Options{}) + "\n")) << key.name;
    }
}

TEST(DocumentationTest, NamesEveryKey) {
    const auto text = read_file(std::string(test::kSourceDir) + "/docs/configuration.md").value();
    for (const auto& key : keys()) EXPECT_THAT(text, HasSubstr("`" + std::string(key.name) + "`"));
}

TEST(ConfigTest, EveryKeyReadsBackWhatItPrints) {
    Options changed;
    changed.recording.events = {changed.recording.events.back()};
    changed.recording.tuning = {
        .frequency = 49, .sample_ring_bytes = 1U << 20, .side_band_ring_bytes = 1U << 19, .max_stack = 64};
    changed.recording.rings_total_bytes = 2U << 20;
    changed.recording.slice = Seconds(1);
    changed.cpus = {CpuSelection::Kind::kList, {CpuId{0}, CpuId{1}, CpuId{5}}};
    changed.analysis = {.window = Seconds(5), .spread = Nanoseconds{}};
    changed.exclude = {.units = {"a*.service", "[x].slice"}, .comms = {"tar", "#1: \"y\""}, .users = {"alice", "1007"}};
    changed.redact = Redact::kPaths;
    changed.symbols = {.debuginfod = {"https://a.example/x", "http://127.0.0.1:8002"},
                       .debuginfod_directory = "/tmp/d"};
    changed.store = {.directory = "/tmp/a \"b\"\\c: #\x01",
                     .bytes = 5U << 20,
                     .free_bytes = 7U << 20,
                     .window_age = Hours(3),
                     .rollup_length = Seconds(20),
                     .rollup_age = Hours(4),
                     .archive_length = Seconds(60),
                     .archive_age = Hours(5)};
    changed.captures = {.enabled = false,
                        .directory = "/tmp/[x]",
                        .file_bytes = 1U << 20,
                        .file_age = Seconds(90),
                        .bytes = 3U << 20,
                        .keep = Hours(2),
                        .frozen_bytes = 9U << 20,
                        .compression = 0};
    changed.triggers = {.rules = {TriggerRuleFormat{}.parse("a when function f<int, \"x\">: > 5% for 1min").value(),
                                  TriggerRuleFormat{}.parse("b when load > 3").value()},
                        .last = Seconds(61),
                        .pause = Seconds(62),
                        .per_hour = 5,
                        .capture_duration = Seconds(11),
                        .capture_frequency = 499};
    changed.listen = {.enabled = true,
                      .address = "::",
                      .port = 0,
                      .allowed_hosts = {"a.example", "b"},
                      .allow_remote = true,
                      .token_file = "/t"};
    changed.sockets = {.control = "/x.sock", .group = "null", .read = "/r.sock", .read_group = "b", .mode = 0600};
    changed.ship = {.to = "http://[::1]:4318/x", .format = ShipFormat::kPprof, .waiting = 7};
    changed.metrics = {.functions = 7, .dsos = 8, .units = 9, .threshold = 0.0025};
    changed.budget = {.cpu = 0.02, .captures = 0.1};
    changed.on_demand = {.concurrent = 1, .waiting = 0, .longest = Seconds(30)};
    changed.log.level = LogLevel::kDebug;
    const Options defaults;
    for (const auto& key : keys()) EXPECT_NE(key.print(changed), key.print(defaults)) << key.name;

    const auto loaded = load_text(print_yaml(changed));
    // The only thing wrong with it: every key differs from its default, so captures are off.
    EXPECT_THAT(texts(loaded), ElementsAre(HasSubstr("triggers.rules: needs captures.enabled")));
    EXPECT_EQ(dump(loaded.options), dump(changed));
    EXPECT_EQ(loaded.options.store.directory, changed.store.directory);
    EXPECT_EQ(loaded.options.sockets.group, "null");
    EXPECT_EQ(loaded.options.listen.allowed_hosts, changed.listen.allowed_hosts);
}

TEST(ConfigTest, ReportsAllFaultsAtOnce) {
    const auto loaded = load_text(
        "recording:\n"
        "  frequncy: 99Hz\n"
        "  max_stack: 0\n"
        "  events: cycles\n"
        "frequency: 50\n"
        "store:\n"
        "  bytes: [1MiB]\n"
        "captures: on\n"
        "budget:\n"
        "  cpu: 1\n"
        "nonsense_and_more: 1\n"
        "log:\n"
        "analysis:\n"
        "  window: 7s\n");
    EXPECT_THAT(texts(loaded),
                ElementsAre("x.yaml:2: recording.frequncy: unknown key, did you mean recording.frequency?",
                            "x.yaml:3: recording.max_stack: 0 is below 1",
                            "x.yaml:4: recording.events: takes a list, write [cycles]",
                            "x.yaml:5: frequency: unknown key, did you mean recording.frequency?",
                            "x.yaml:7: store.bytes: takes one value, not a list",
                            "x.yaml:8: captures: is a section and has no value of its own, write its keys below it",
                            "x.yaml:10: budget.cpu: \"1\" has no percent sign, write 1%",
                            "x.yaml:11: nonsense_and_more: unknown key, see docs/configuration.md for the known ones",
                            "x.yaml:14: analysis.window: is no multiple of recording.slice, write whole slices of 5s"));
}

struct RelationCase {
    const char* name;
    const char* text;
    const char* fault;  // nullptr: none
};
class RelationTest : public testing::TestWithParam<RelationCase> {};

TEST_P(RelationTest, IsJudged) {
    const auto loaded = load_text(GetParam().text);
    if (GetParam().fault == nullptr)
        EXPECT_THAT(texts(loaded), IsEmpty());
    else
        EXPECT_THAT(texts(loaded), Contains(HasSubstr(GetParam().fault)));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RelationTest,
    testing::Values(
        RelationCase{"Loopback", "listen: {address: '127.0.0.1:1'}", nullptr},
        RelationCase{"Loopback6", "listen: {address: '[::1]:1'}", nullptr},
        RelationCase{"Off", "listen: {address: off}", nullptr},
        RelationCase{"Remote", "listen: {address: '0.0.0.0:1'}", "x.yaml:1: listen.address: 0.0.0.0 can be reached"},
        RelationCase{"RemoteNoToken", "listen: {address: '0.0.0.0:1', allow_remote: true}",
                     "listen.token_file: must be set"},
        RelationCase{"RemoteToken", "listen: {address: '0.0.0.0:1', allow_remote: true, token_file: /t}", nullptr},
        RelationCase{"RefusedPartner", "listen: {address: '0.0.0.0:1', allow_remote: maybe}",
                     "listen.allow_remote: \"maybe\" is neither true nor false"},
        RelationCase{"Rings", "recording: {rings: {total: 1MiB, samples: 1MiB}}",
                     "recording.rings.total: does not hold"},
        RelationCase{"CaptureFile", "captures: {size: 4MiB, bytes: 2MiB}", "captures.bytes: does not hold one file"},
        RelationCase{"SameFolder", "store: {dir: /a}\ncaptures: {dir: /a}", "x.yaml:2: captures.dir: is the same"},
        RelationCase{"SameFolderOff", "store: {dir: /a}\ncaptures: {dir: /a, enabled: false}", nullptr},
        RelationCase{"NoEvents", "recording: {events: []}", "recording.events: is empty"},
        RelationCase{"RollupOfParts", "store: {rollups: {length: 90s}}",
                     "store.rollups.length: is no multiple of analysis.window, write several windows of 1min"},
        RelationCase{"ArchiveOfParts", "store: {archives: {length: 25min}}",
                     "store.archives.length: is no multiple of store.rollups.length"},
        RelationCase{"WindowsGoTooEarly", "store: {windows: {keep: 5min}}",
                     "store.windows.keep: is shorter than store.rollups.length, write at least 10min"},
        RelationCase{"RollupsGoTooEarly", "store: {rollups: {keep: 1h}}",
                     "store.rollups.keep: is shorter than store.windows.keep or store.archives.length"},
        RelationCase{"ArchivesGoTooEarly", "store: {archives: {keep: 1d}}",
                     "store.archives.keep: is shorter than store.rollups.keep, write at least 7d"},
        RelationCase{"RuleWithoutCaptures", "captures: {enabled: false}\ntriggers: {rules: [a when load > 3]}",
                     "x.yaml:2: triggers.rules: needs captures.enabled"},
        RelationCase{"RulesOfOneName", "triggers:\n  rules:\n    - a when load > 3\n    - a when loss > 3%",
                     "x.yaml:2: triggers.rules: two rules are called a, give each its own name"},
        RelationCase{"BadRule", "triggers: {rules: [a when lod > 3]}",
                     "x.yaml:1: triggers.rules: rule \"a when lod > 3\": \"lod\" is not known, write one of cpu_busy"},
        RelationCase{"RulesBesideExcluded", "exclude: {users: [alice]}\ntriggers: {rules: [a when load > 3]}",
                     "x.yaml:2: triggers.rules: freezes captures, which are not kept where anything is excluded"},
        RelationCase{"RulesBesideRedacted", "redact: paths\ntriggers: {rules: [a when load > 3]}",
                     "x.yaml:2: triggers.rules: freezes captures, which are not kept where anything is excluded"},
        RelationCase{"EmptyPattern", "exclude:\n  units: [a.service, '']",
                     "x.yaml:2: exclude.units: a pattern is empty, remove it, or write * for all"},
        RelationCase{"BadUser", "exclude: {users: [al ice]}", "x.yaml:1: exclude.users: \"al ice\" is not a name"},
        RelationCase{"BadRedact", "redact: names",
                     "x.yaml:1: redact: \"names\" cannot be redacted, write nothing or paths"},
        RelationCase{"LongCapture", "triggers: {capture: {duration: 11min}}",
                     "triggers.capture.duration: is longer than on_demand.longest, write at most 10min"},
        RelationCase{"SmallWindow", "recording: {slice: 1s}\nanalysis: {window: 5s, spread: 0s}", nullptr}),
    [](const auto& param) { return param.param.name; });

TEST(ConfigTest, RefusedPartnerSilencesItsRelations) {
    const auto loaded = load_text("listen: {address: '0.0.0.0:1', allow_remote: maybe}");
    EXPECT_EQ(loaded.faults.size(), 1U);
}

TEST(ConfigTest, MissingFileIsOneFault) {
    const auto loaded = load_file("/nonexistent/perfvigil.yaml");
    ASSERT_EQ(loaded.faults.size(), 1U);
    EXPECT_THAT(loaded.faults[0].why, HasSubstr("No such file"));
}

TEST(ReloadTest, TellsLiveFromRestart) {
    const Options now;
    Options next;
    next.recording.tuning.frequency = 49;
    next.log.level = LogLevel::kDebug;
    next.store.directory = "/elsewhere";
    next.listen.port = 1;
    next.listen.allowed_hosts = {"h"};
    const auto changes = difference(now, next);
    EXPECT_THAT(changes.live, ElementsAre("recording.frequency", "listen.allowed_hosts", "log.level"));
    EXPECT_THAT(changes.restart, ElementsAre("store.dir", "listen.address"));

    const auto merged = with_live_keys(now, next);
    EXPECT_EQ(merged.recording.tuning.frequency, 49U);
    EXPECT_EQ(merged.log.level, LogLevel::kDebug);
    EXPECT_THAT(merged.listen.allowed_hosts, ElementsAre("h"));
    EXPECT_EQ(merged.store.directory, now.store.directory);
    EXPECT_EQ(merged.listen.port, now.listen.port);
    EXPECT_THAT(difference(now, now).live, IsEmpty());
}

TEST(NearestKeyTest, FindsTyposAndMovedWords) {
    EXPECT_EQ(nearest_key("recording.frequncy"), "recording.frequency");
    EXPECT_EQ(nearest_key("recordnig.slice"), "recording.slice");
    EXPECT_EQ(nearest_key("recordings"), "recording");
    EXPECT_EQ(nearest_key("window"), "analysis.window");
    EXPECT_EQ(nearest_key("recording.window"), "analysis.window");
    EXPECT_EQ(nearest_key("completely.different"), "");
    EXPECT_EQ(nearest_key(""), "");
    EXPECT_EQ(nearest_key(std::string(10000, 'a')), "");
}

}  // namespace
}  // namespace perfvigil::config
