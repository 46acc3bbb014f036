// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/annotation.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "analyzer/symbols/lines_format.hpp"

namespace perfvigil::analyzer {
namespace {

// A function of four instructions at file offset 0x1000, linked at 0x401000; samples in three of them, one of them in
// the middle of its instruction.
CountedFunction counted() {
    CountedFunction function;
    function.name = "hot";
    function.dso_name = "/usr/bin/x";
    function.start = 0x1000;
    function.size = 12;
    function.samples = 10;
    function.addresses = {{0x1000, {.samples = 1, .weight = 10}},
                          {0x1004, {.samples = 6, .weight = 60}},
                          {0x1005, {.samples = 1, .weight = 10}},
                          {0x100a, {.samples = 2, .weight = 20}}};
    return function;
}
const std::vector<Instruction> kCode{{.address = 0x401000, .size = 1, .text = "push rbp"},
                                     {.address = 0x401001, .size = 3, .text = "mov rbp, rsp"},
                                     {.address = 0x401004, .size = 6, .text = "imul rax, rax"},
                                     {.address = 0x40100a, .size = 2, .text = "ret"}};

SourceLines lines() {
    std::vector<std::byte> bytes;
    ByteWriter writer(bytes);
    for (const std::uint32_t word : {kLinesMagic, kLinesVersion, 4U, 1U, std::uint32_t{kLinesDebugInfo}, 9U}) {
        writer.u32(word);
    }
    // The third instruction and the last share a line; the second has none.
    for (const std::uint32_t word : {1U, 3U, 0U, 0U, 1U, 5U, 1U, 5U, 9U}) writer.u32(word);
    writer.bytes(std::as_bytes(std::span("src/hot.c", 9)));
    return SourceLines::from_bytes(
               bytes, {LinkAddress{0x401000}, LinkAddress{0x401001}, LinkAddress{0x401004}, LinkAddress{0x40100a}})
        .value();
}
constexpr std::uint64_t kShift = 0x400000;

TEST(Annotation, ASampleCountsForItsInstructionAndItsLine) {
    const auto source = lines();
    const auto made = annotate(counted(), "cpu-clock", kCode, &source, kShift);
    EXPECT_EQ(made.samples, 10U);
    EXPECT_EQ(made.weight, 100U);
    ASSERT_EQ(made.instructions.size(), 4U);
    EXPECT_EQ(made.instructions[0].samples, 1U);
    EXPECT_EQ(made.instructions[1].samples, 0U);
    EXPECT_EQ(made.instructions[2].samples, 7U) << "the one in its middle too";
    EXPECT_EQ(made.instructions[2].weight, 70U);
    EXPECT_EQ(made.instructions[3].samples, 2U);
    ASSERT_EQ(made.lines.size(), 2U);
    EXPECT_EQ(made.lines[0].line.line, 5U);
    EXPECT_EQ(made.lines[0].samples, 9U);
    EXPECT_EQ(made.lines[1].line.line, 3U);
}

TEST(Annotation, WithoutMachineCodeTheSampledAddressesRemain) {
    const auto made = annotate(counted(), "cpu-clock", {}, nullptr, kShift);
    ASSERT_EQ(made.instructions.size(), 4U);
    EXPECT_EQ(made.instructions[1].address, 0x401004U);
    EXPECT_EQ(made.instructions[1].samples, 6U);
    EXPECT_EQ(made.instructions[2].address, 0x401005U);
    EXPECT_TRUE(made.instructions[1].text.empty());
    EXPECT_TRUE(made.lines.empty());
}

TEST(Annotation, ASampleOutsideTheCodeIsNotLost) {
    auto function = counted();
    function.addresses[0x2000] = {.samples = 5, .weight = 50};
    const auto made = annotate(function, "cpu-clock", kCode, nullptr, kShift);
    EXPECT_EQ(made.samples, 15U);
    ASSERT_EQ(made.instructions.size(), 5U);
    EXPECT_EQ(made.instructions.back().address, 0x402000U);
    EXPECT_EQ(made.instructions.back().samples, 5U);
}

TEST(Annotation, TextShowsSharesOfTheFunctionAndLeavesOutFarInstructions) {
    const auto source = lines();
    auto annotation = annotate(counted(), "cpu-clock", kCode, &source, kShift);
    annotation.notes = {"a note"};
    for (std::uint64_t i = 0; i < 50; ++i) annotation.instructions.push_back({.address = 0x40100c + i, .text = "nop"});
    annotation.instructions.push_back({.address = 0x401100, .text = "ud2", .samples = 1, .weight = 10});
    const auto text = annotation_text(annotation, {.width = 0, .context = 2});
    EXPECT_NE(text.find("hot in /usr/bin/x: 10 samples of cpu-clock"), std::string::npos) << text;
    EXPECT_NE(text.find("a note"), std::string::npos);
    EXPECT_NE(text.find("imul rax, rax"), std::string::npos);
    EXPECT_NE(text.find("src/hot.c:5"), std::string::npos) << text;
    EXPECT_NE(text.find("70.00"), std::string::npos);
    EXPECT_NE(text.find("…"), std::string::npos);
    // Two rows of context after "ret", two before "ud2", not all fifty.
    std::size_t nops = 0;
    for (auto at = text.find("nop"); at != std::string::npos; at = text.find("nop", at + 1)) ++nops;
    EXPECT_EQ(nops, 4U);
}

TEST(Annotation, JsonHoldsEveryInstruction) {
    const auto source = lines();
    const auto made = annotate(counted(), "cpu-clock", kCode, &source, kShift);
    const auto parsed = boost::json::parse(annotation_json({made}));
    const auto& function = parsed.at("functions").at(0);
    EXPECT_EQ(function.at("symbol").as_string(), "hot");
    EXPECT_EQ(function.at("instructions").as_array().size(), 4U);
    const auto& hot = function.at("instructions").at(2);
    EXPECT_EQ(hot.at("address").as_string(), "0x401004");
    EXPECT_EQ(hot.at("samples").to_number<int>(), 7);
    EXPECT_EQ(hot.at("line").to_number<int>(), 5);
    EXPECT_EQ(function.at("lines").at(0).at("period").to_number<int>(), 90);
}

}  // namespace
}  // namespace perfvigil::analyzer
