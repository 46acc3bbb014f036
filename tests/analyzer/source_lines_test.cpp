// SPDX-License-Identifier: GPL-2.0-or-later
// Source lines against addr2line, on a program with debug information; and answers that break their format.
#include "analyzer/symbols/source_lines.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyzer/symbols/lines_format.hpp"
#include "analyzer/symbols/symbol_child.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "tests/support/client.hpp"
#include "tests/support/elf_image.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/report_view.hpp"

namespace perfvigil::analyzer {
namespace {

SymbolChildOptions real_child() {
    SymbolChildOptions options;
    options.program = test::kPerfvigilSymbols;
    return options;
}

TEST(SourceLines, AgreeWithAddr2line) {
    const test::ManualClock clock;
    SymbolChild child(real_child(), clock);
    const auto path = test::client_path("split70_30");
    const auto file = open_file(path, O_RDONLY).value();
    const auto symbols = child.read(file.get());
    ASSERT_TRUE(symbols) << symbols.error().message;

    std::vector<LinkAddress> addresses;
    std::vector<std::string> arguments{"-e", path};
    for (std::size_t i = 0; i < symbols->size(); ++i) {
        const auto function = symbols->at(i);
        for (std::uint64_t at = 0; at < function.size; at += 3) {
            const auto address = symbols->link_address(FileOffset{function.start.value + at});
            ASSERT_TRUE(address);
            addresses.push_back(*address);
            arguments.push_back(fmt::format("{:#x}", address->value));
        }
    }
    const auto lines = child.lines(file.get(), addresses);
    ASSERT_TRUE(lines) << lines.error().message;
    EXPECT_TRUE(lines->has_debug_info());
    const auto text = test::output_of("/usr/bin/addr2line", arguments);
    const auto expected = split(text, '\n');
    ASSERT_GE(expected.size(), addresses.size());
    std::size_t named = 0;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const auto line = lines->find(addresses[i]);
        auto truth = expected[i].substr(0, expected[i].find(" (discriminator"));
        if (truth.ends_with(":0") || truth.ends_with(":?") || truth.starts_with("??")) {
            EXPECT_FALSE(line) << truth;
            continue;
        }
        ++named;
        ASSERT_TRUE(line) << truth;
        // The two differ in how they write a path with "..": the file's name and the line are what counts.
        const auto got = fmt::format("{}:{}", base_name(line->file), line->line);
        EXPECT_EQ(got, base_name(truth)) << fmt::format("{:#x}", addresses[i].value);
    }
    EXPECT_GT(named, 50U);
    EXPECT_FALSE(lines->find(LinkAddress{1})) << "never asked for";
}

TEST(SourceLines, AFileWithoutDebugInformationSaysSo) {
    const test::ManualClock clock;
    SymbolChild child(real_child(), clock);
    test::ElfImageSpec spec;
    spec.symtab = {{.name = "f", .value = 0x401000, .size = 16}};
    const auto bare = test::make_elf(spec);
    const auto lines = child.lines(test::memory_file(bare).get(), {LinkAddress{0x401004}});
    ASSERT_TRUE(lines) << lines.error().message;
    EXPECT_FALSE(lines->has_debug_info());
    EXPECT_FALSE(lines->find(LinkAddress{0x401004}));
    // The next question is answered by the same child.
    EXPECT_TRUE(child.lines(test::memory_file(std::as_bytes(std::span("text"))).get(), {}));
    EXPECT_EQ(child.counters().started, 1U);
}

// A sound answer: two addresses, one file, the second address unknown.
std::vector<std::byte> sound() {
    std::vector<std::byte> bytes;
    ByteWriter writer(bytes);
    for (const std::uint32_t word : {kLinesMagic, kLinesVersion, 2U, 1U, std::uint32_t{kLinesDebugInfo}, 3U}) {
        writer.u32(word);
    }
    for (const std::uint32_t word : {1U, 7U, 0U, 0U, 3U}) writer.u32(word);
    writer.bytes(std::as_bytes(std::span("a.c", 3)));
    return bytes;
}
const std::vector<LinkAddress> kTwo{LinkAddress{0x10}, LinkAddress{0x20}};

TEST(SourceLines, AreFoundByTheirAddress) {
    const auto bytes = sound();
    const auto lines = SourceLines::from_bytes(bytes, kTwo);
    ASSERT_TRUE(lines) << lines.error().message;
    EXPECT_EQ(lines->find(LinkAddress{0x10}), (SourceLine{.file = "a.c", .line = 7}));
    EXPECT_FALSE(lines->find(LinkAddress{0x20}));
    EXPECT_FALSE(lines->find(LinkAddress{0x18}));
}

TEST(SourceLines, AnAnswerCutAnywhereOrLyingIsRefused) {
    const auto bytes = sound();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_FALSE(SourceLines::from_bytes(Bytes(bytes).first(size), kTwo)) << size;
    }
    EXPECT_FALSE(SourceLines::from_bytes(bytes, {LinkAddress{0x10}})) << "another question's answer";
    // Each word raised beyond what is there, but for flags, the line and the unknown file's line.
    for (const std::size_t word : {0U, 1U, 2U, 3U, 5U, 6U, 8U, 10U}) {
        auto lie = bytes;
        const std::uint32_t large = 0x7fffffff;
        std::memcpy(lie.data() + word * 4, &large, 4);
        EXPECT_FALSE(SourceLines::from_bytes(lie, kTwo)) << "word " << word;
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
