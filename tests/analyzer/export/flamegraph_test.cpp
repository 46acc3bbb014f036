// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/export/flamegraph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "tests/support/outside_parser.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Drawn {
    std::string name;
    int depth = 0;
    double x = 0;      // percent
    double width = 0;  // percent
    double y = 0;
    std::string fill;
    std::string tooltip;
    std::string text;
};

std::vector<Drawn> frames_of(const std::string& svg) {
    static const std::regex frame(
        "<g data-depth=\"([0-9]+)\"><title>([^<]*)</title><rect x=\"([^%]*)%\" y=\"([^\"]*)\" width=\"([^%]*)%\" "
        "height=\"16\" fill=\"(#[0-9a-f]{6})\"/>(<text[^>]*>([^<]*)</text>)?</g>");
    std::vector<Drawn> frames;
    for (std::sregex_iterator at(svg.begin(), svg.end(), frame), end; at != end; ++at) {
        const auto& match = *at;
        const auto tooltip = test::without_entities(match[2]);
        frames.push_back({.name = tooltip.substr(0, tooltip.find('\n')),
                          .depth = std::stoi(match[1]),
                          .x = std::stod(match[3]),
                          .width = std::stod(match[5]),
                          .y = std::stod(match[4]),
                          .fill = match[6],
                          .tooltip = tooltip,
                          .text = test::without_entities(match[8])});
    }
    return frames;
}

// "main 1 0+100" of each frame.
std::vector<std::string> places(const std::vector<Drawn>& frames) {
    std::vector<std::string> texts;
    for (const auto& frame : frames) {
        std::ostringstream text;
        text << frame.name << " " << frame.depth << " " << frame.x << "+" << frame.width;
        texts.push_back(text.str());
    }
    return texts;
}

const std::vector<std::string> kNames{"main", "parse", "read", "copy"};

FlameFrame by_name(const CallTree& tree, std::uint32_t node) {
    return {.name = kNames[tree.nodes()[node].function], .detail = "/bin/x", .colour = {1, 2, 3}};
}

//   main 10 (self 3): parse 5 (self 1): copy 4;  read 2
CallTree small_tree() {
    CallTreeBuilder builder;
    builder.add(std::vector<std::uint32_t>{0}, 3, 300);
    builder.add(std::vector<std::uint32_t>{0, 1}, 1, 100);
    builder.add(std::vector<std::uint32_t>{0, 1, 3}, 4, 400);
    builder.add(std::vector<std::uint32_t>{0, 2}, 2, 200);
    return builder.build();
}

std::string drawing(const CallTree& tree, const FlamegraphOptions& options) {
    return flamegraph_svg(tree, [&](std::uint32_t node) { return by_name(tree, node); }, options);
}

TEST(Flamegraph, FramesLieOverTheirCallers) {
    const auto svg = drawing(small_tree(), {.title = "t", .unit = WeightUnit::kNanoseconds});
    const auto frames = frames_of(svg);
    EXPECT_THAT(places(frames),
                ElementsAre("all 0 0+100", "main 1 0+100", "parse 2 0+50", "read 2 50+20", "copy 3 0+40"));
    EXPECT_EQ(frames[2].tooltip, "parse\n/bin/x\ntotal 50.00 %, 500 ns, 5 samples\nself 10.00 %, 100 ns, 1 samples");
    EXPECT_EQ(frames[2].text, "parse");
    EXPECT_EQ(frames[2].fill, "#010203");
}

TEST(Flamegraph, FlamesGrowUpAndIciclesDown) {
    const auto up = frames_of(drawing(small_tree(), {}));
    const auto down = frames_of(drawing(small_tree(), {.growth = FlamegraphGrowth::kDown}));
    ASSERT_EQ(up.size(), 5U);
    ASSERT_EQ(down.size(), 5U);
    // Four rows: the root's is the lowest of one and the highest of the other.
    EXPECT_EQ(up[0].y, 51);
    EXPECT_EQ(up[4].y, 0);
    EXPECT_EQ(down[0].y, 0);
    EXPECT_EQ(down[4].y, 51);
}

// Of 1000 samples, at 1180 pixels for all of them: one sample is 1.18 pixels.
TEST(Flamegraph, NeighboursTooNarrowAreDrawnAsOne) {
    CallTreeBuilder builder;
    builder.add(std::vector<std::uint32_t>{0}, 990, 990);
    for (std::uint32_t i = 1; i <= 3; ++i) builder.add(std::vector<std::uint32_t>{i, 0}, 2, 2);
    builder.add(std::vector<std::uint32_t>{3}, 2, 2);
    builder.add(std::vector<std::uint32_t>{2, 1}, 2, 2);
    const auto tree = builder.build();
    EXPECT_THAT(places(frames_of(drawing(tree, {.narrowest = 1}))), testing::Contains("copy 1 99.4+0.4"));
    // 4 samples are 4.72 pixels, 2 are 2.36.
    const auto frames = frames_of(drawing(tree, {.narrowest = 5}));
    EXPECT_THAT(places(frames), ElementsAre("all 0 0+100", "main 1 0+99", "(too narrow to be drawn apart) 1 99+1"));
    EXPECT_THAT(frames[2].tooltip, HasSubstr("3 functions\ntotal 1.00 %"));
}

TEST(Flamegraph, ThereAreNeverMoreFramesThanABrowserCanMove) {
    CallTreeBuilder builder;
    for (std::uint32_t i = 0; i < 3000; ++i) builder.add(std::vector<std::uint32_t>{i % 4, i}, i, i);
    const auto tree = builder.build();
    const auto svg = flamegraph_svg(tree, [](std::uint32_t) { return FlameFrame{.name = "f"}; },
                                    {.narrowest = 0, .most_frames = 500});
    const auto frames = frames_of(svg);
    EXPECT_GT(frames.size(), 400U);
    EXPECT_LE(frames.size(), 510U);  // what was too light is one frame per caller more
}

TEST(Flamegraph, RowsEndSomewhereAndThePictureSaysSo) {
    CallTreeBuilder builder;
    builder.add(std::vector<std::uint32_t>(1000, 0), 1, 1);
    const auto svg = drawing(builder.build(), {.subtitle = "deep", .deepest = 50});
    EXPECT_EQ(frames_of(svg).size(), 50U);
    EXPECT_THAT(svg, HasSubstr("deep; only the outermost 50 rows are drawn"));
    EXPECT_THAT(drawing(small_tree(), {}), Not(HasSubstr("outermost")));
}

TEST(Flamegraph, LongNamesAreCutToTheirFrame) {
    CallTreeBuilder builder;
    builder.add(std::vector<std::uint32_t>{0}, 95, 95);
    builder.add(std::vector<std::uint32_t>{1}, 5, 5);
    const auto tree = builder.build();
    const std::string name = "größter_gemeinsamer_Teiler(unsigned long, unsigned long)";
    const auto frames = frames_of(flamegraph_svg(tree, [&](std::uint32_t) { return FlameFrame{.name = name}; }, {}));
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[1].text, name);
    // 59 pixels: 7 characters, the last of them says that there is more.
    EXPECT_EQ(frames[2].text, "größte…");
    EXPECT_EQ(frames[2].name, name);
}

TEST(Flamegraph, NothingToDrawIsStillAPicture) {
    const auto frames = frames_of(drawing(CallTreeBuilder().build(), {.root_name = "nothing"}));
    EXPECT_THAT(places(frames), ElementsAre("nothing 0 0+100"));
}

TEST(Flamegraph, HostileNamesStayText) {
    const std::vector<std::string> hostile{"</title><script>alert(1)</script>",
                                           "]]>",
                                           "a&b\"c'd",
                                           std::string("\0\x1b[2J", 5),
                                           "\xff\xfe",
                                           "two\nlines",
                                           "\xef\xbf\xbf",
                                           "\xe2\x80\xae"
                                           "evil",
                                           "<![CDATA["};
    CallTreeBuilder builder;
    for (std::uint32_t i = 0; i < hostile.size(); ++i) builder.add(std::vector<std::uint32_t>{i}, 10, 10);
    const auto tree = builder.build();
    const auto svg = flamegraph_file(
        tree,
        [&](std::uint32_t node) {
            const auto& name = hostile[tree.nodes()[node].function];
            return FlameFrame{.name = name, .detail = name};
        },
        {.title = hostile[0], .subtitle = hostile[1], .root_name = hostile[2], .legend = {{hostile[0], {}}}});
    EXPECT_EQ(svg.find("<script>alert"), std::string::npos);
    const test::TempFolder folder;
    (void)folder.write("hostile.svg", svg);
    EXPECT_EQ(test::xml_verdict(folder.path().string(), ".svg"), "1\n");
    std::map<std::string, int> names;
    for (const auto& frame : frames_of(svg)) ++names[frame.name];
    for (const char* shown : {"</title><script>alert(1)</script>", "]]>", "a&b\"c'd", "\\x00\\x1b[2J", "\\xff\\xfe",
                              "two\\x0alines", "\\xef\\xbf\\xbf", "\\xe2\\x80\\xaeevil", "<![CDATA["}) {
        EXPECT_GE(names[shown], 1) << shown;
    }
}

TEST(Flamegraph, TheLegendIsDrawn) {
    const auto svg = drawing(small_tree(), {.legend = {{"more", change_colour(1)}, {"less", change_colour(-1)}}});
    EXPECT_THAT(svg, HasSubstr("fill=\"#ff6a5e\"/>\n<text class=\"pv-label\" x=\"27\" y=\"62\">more</text>"));
    EXPECT_THAT(svg, HasSubstr(">less</text>"));
}

}  // namespace
}  // namespace perfvigil::analyzer
