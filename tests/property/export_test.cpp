// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever a profile holds, its exports are what their formats ask for: hostile names, numbers at both ends, stacks of
// no frames.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>
#include <random>
#include <set>

#include "analyzer/export/event_choice.hpp"
#include "analyzer/export/event_flamegraph.hpp"
#include "analyzer/export/folded.hpp"
#include "analyzer/export/frame_style.hpp"
#include "analyzer/export/otlp.hpp"
#include "analyzer/export/pprof.hpp"
#include "analyzer/export/speedscope.hpp"
#include "analyzer/export/stacks_json.hpp"
#include "base/text.hpp"
#include "tests/support/message_view.hpp"
#include "tests/support/outside_parser.hpp"
#include "tests/support/random_profile.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::test {
namespace {

using analyzer::IdleRows;
using analyzer::Profile;

constexpr int kRounds = 300;

// Random bytes seldom look like markup or like a line of collapsed stacks.
void make_hostile(Profile& profile, std::mt19937_64& random) {
    static const std::vector<std::string> words{"</title></g></svg>",
                                                "]]>",
                                                "<![CDATA[",
                                                "<script>",
                                                "&amp;&",
                                                "\"'",
                                                ";",
                                                ";;",
                                                "a;b 12",
                                                "\n",
                                                "\r\n",
                                                " 7",
                                                "-->",
                                                "<?xml",
                                                "\xef\xbf\xbf",
                                                "\xe2\x80\xae",
                                                "\\",
                                                "\\x3b",
                                                std::string(1, '\0'),
                                                "{\"a\":[",
                                                "\xff\xc0"};
    const auto word = [&] { return words[random() % words.size()] + words[random() % words.size()]; };
    for (auto& function : profile.functions) {
        if (random() % 2 == 0) function.name = word();
        if (random() % 2 == 0) function.dso = word();
    }
    for (auto& context : profile.contexts) context.comm = word();
    for (auto& event : profile.events) event.name = word();
    if (!profile.warnings.empty()) profile.warnings.front() = word();
    profile.id = word();
    profile.host.hostname = word();
}

template <class Check>
void each_profile(std::uint64_t seed, Check&& check) {
    std::mt19937_64 random(seed);
    int checked = 0;
    for (int round = 0; round < kRounds; ++round) {
        Profile profile = random_profile(random);
        make_hostile(profile, random);
        for (std::uint32_t event = 0; event < profile.events.size(); ++event, ++checked) {
            SCOPED_TRACE(testing::Message() << "round " << round << ", event " << event);
            check(profile, event, random() % 2 == 0 ? IdleRows::kInclude : IdleRows::kExclude, checked);
        }
    }
    EXPECT_GT(checked, kRounds);
}

bool counts(const analyzer::ProfileSample& sample, std::uint32_t event, IdleRows idle) {
    return sample.event == event && (!sample.idle || idle == IdleRows::kInclude);
}

TEST(Exports, FlamegraphsAreWellFormed) {
    const TempFolder folder;
    int files = 0;
    each_profile(1, [&](const Profile& profile, std::uint32_t event, IdleRows idle, int number) {
        if (number % 4 != 0) return;
        ++files;
        (void)folder.write(std::to_string(number) + ".svg",
                           event_flamegraph_file(profile, event, {.idle = idle, .narrowest = 0.001}));
    });
    EXPECT_EQ(xml_verdict(folder.path().string(), ".svg"), std::to_string(files) + "\n");
}

// What each line says, "names of its frames" → value, and that there is one line per distinct stack.
TEST(Exports, FoldedLinesAreStacksAndValues) {
    const auto label = [](const std::string& name) {
        std::string text = escape(name);
        for (auto at = text.find(';'); at != std::string::npos; at = text.find(';')) text.replace(at, 1, "\\x3b");
        return text;
    };
    each_profile(2, [&](const Profile& profile, std::uint32_t event, IdleRows idle, int) {
        std::map<std::vector<std::string>, std::uint64_t> expected;
        for (const auto& sample : profile.samples) {
            if (!counts(sample, event, idle)) continue;
            std::vector<std::string> frames{label(analyzer::thread_name(profile.contexts[sample.context].comm))};
            const auto& functions = profile.stacks[sample.stack].functions;
            for (auto at = functions.rbegin(); at != functions.rend(); ++at) {
                frames.push_back(label(analyzer::frame_name(profile.functions[*at])));
            }
            expected[frames] += sample.weight;
        }
        std::erase_if(expected, [](const auto& stack) { return stack.second == 0; });
        std::map<std::vector<std::string>, std::uint64_t> got;
        const auto text = folded(profile, event, {.idle = idle});
        ASSERT_TRUE(text.empty() || text.back() == '\n');
        for (const auto line : split(text, '\n')) {
            const auto space = line.rfind(' ');
            ASSERT_NE(space, std::string_view::npos);
            std::vector<std::string> frames;
            for (const auto frame : split(line.substr(0, space), ';')) frames.emplace_back(frame);
            const auto value = parse_number<std::uint64_t>(line.substr(space + 1));
            ASSERT_TRUE(value) << line;
            EXPECT_TRUE(got.emplace(frames, *value).second) << "twice: " << line;
        }
        EXPECT_EQ(got, expected);
    });
}

TEST(Exports, PprofRefersToWhatItHolds) {
    each_profile(3, [](const Profile& profile, std::uint32_t event, IdleRows idle, int) {
        const MessageView root(gunzip(pprof(profile, event, idle)));
        const auto strings = root.texts(6).size();
        std::set<std::uint64_t> mappings, functions, locations;
        for (const auto& mapping : root.messages(3)) {
            EXPECT_TRUE(mappings.insert(mapping.number(1)).second);
            EXPECT_NE(root.texts(6).at(mapping.number(5)), "");
        }
        for (const auto& function : root.messages(5)) {
            EXPECT_TRUE(functions.insert(function.number(1)).second);
            EXPECT_LT(function.number(2), strings);
        }
        for (const auto& location : root.messages(4)) {
            EXPECT_TRUE(locations.insert(location.number(1)).second);
            EXPECT_TRUE(mappings.contains(location.number(2)));
            EXPECT_TRUE(functions.contains(location.messages(4).at(0).number(1)));
        }
        std::size_t samples = 0;
        for (const auto& sample : profile.samples) samples += counts(sample, event, idle) ? 1 : 0;
        EXPECT_EQ(root.messages(2).size(), samples);
        for (const auto& sample : root.messages(2)) {
            EXPECT_EQ(sample.numbers(2).size(), 2U);
            for (const auto location : sample.numbers(1)) EXPECT_TRUE(locations.contains(location));
            for (const auto value : sample.numbers(2)) EXPECT_LE(value, 0x7fffffffffffffffU);
        }
    });
}

TEST(Exports, JsonIsJson) {
    each_profile(4, [](const Profile& profile, std::uint32_t event, IdleRows idle, int) {
        const auto file = boost::json::parse(speedscope(profile, {event}, idle));
        const auto frames = file.at("shared").at("frames").as_array().size();
        const auto& sampled = file.at("profiles").as_array().at(0);
        EXPECT_EQ(sampled.at("samples").as_array().size(), sampled.at("weights").as_array().size());
        for (const auto& stack : sampled.at("samples").as_array()) {
            for (const auto& frame : stack.as_array()) EXPECT_LT(frame.to_number<std::size_t>(), frames);
        }
        const auto dump = boost::json::parse(stacks_json(profile, {event}, idle));
        std::size_t samples = 0;
        for (const auto& sample : profile.samples) samples += counts(sample, event, idle) ? 1 : 0;
        EXPECT_EQ(dump.at("samples").as_array().size(), samples);
    });
}

TEST(Exports, OtlpRefersToWhatItHolds) {
    each_profile(5, [](const Profile& profile, std::uint32_t event, IdleRows idle, int) {
        const MessageView root(otlp(profile, {event}, idle));
        const auto tables = root.messages(2).at(0);
        const auto size = [&](std::uint32_t table) { return tables.texts(table).size(); };
        for (const auto& stack : tables.messages(7)) {
            for (const auto location : stack.numbers(1)) EXPECT_LT(location, size(2));
        }
        const auto locations = tables.messages(2);
        for (std::size_t i = 1; i < locations.size(); ++i) {
            EXPECT_LT(locations[i].number(1), size(1));
            EXPECT_LT(locations[i].messages(3).at(0).number(1), size(3));
        }
        for (const auto& sample : root.messages(1).at(0).messages(2).at(0).messages(2).at(0).messages(2)) {
            EXPECT_LT(sample.number(1), size(7));
            EXPECT_EQ(sample.numbers(4).size(), 1U);
            for (const auto attribute : sample.numbers(2)) EXPECT_LT(attribute, size(6));
        }
    });
}

}  // namespace
}  // namespace perfvigil::test
