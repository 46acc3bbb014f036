// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/perf_map.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "analyzer/symbols/perf_map_file.hpp"
#include "tests/support/temp_folder.hpp"

namespace perfvigil::analyzer {
namespace {

std::string at(const PerfMap& map, std::uint64_t address) {
    const auto found = map.find(RuntimeAddress{address});
    return found ? std::string(found->name) : "-";
}

TEST(PerfMap, LinesOfEveryForm) {
    const auto map = PerfMap::parse(
        "1000 10 LazyCompile:*render /srv/app.js:10\n"
        "0x2000 0x20 hex\n"
        "\n"
        "3000 zz bad size\n"
        "nonsense\n"
        "4000 10\n"
        "5000 0 empty\n"
        "6000 10 half writ");
    EXPECT_EQ(at(map, 0x1000), "LazyCompile:*render /srv/app.js:10");
    EXPECT_EQ(at(map, 0x100f), "LazyCompile:*render /srv/app.js:10");
    EXPECT_EQ(at(map, 0x1010), "-");
    EXPECT_EQ(at(map, 0x201f), "hex");
    EXPECT_EQ(at(map, 0x6000), "-");
    EXPECT_EQ(at(map, 0), "-");
    EXPECT_EQ(map.size(), 2U);
    EXPECT_EQ(map.malformed_lines(), 4U);
}

TEST(PerfMap, LaterLinesTakeAddressesOfEarlierOnes) {
    EXPECT_EQ(at(PerfMap::parse("100 10 old\n100 10 new\n"), 0x105), "new");
    const auto inside = PerfMap::parse("100 100 outer\n140 10 inner\n");
    EXPECT_EQ(at(inside, 0x13f), "outer");
    EXPECT_EQ(at(inside, 0x14f), "inner");
    EXPECT_EQ(at(inside, 0x150), "outer");
    EXPECT_EQ(inside.find(RuntimeAddress{0x150})->start.value, 0x100U);
    const auto over = PerfMap::parse("100 10 a\n110 10 b\n120 10 c\n108 20 over\n");
    EXPECT_EQ(at(over, 0x107), "a");
    EXPECT_EQ(at(over, 0x108), "over");
    EXPECT_EQ(at(over, 0x127), "over");
    EXPECT_EQ(at(over, 0x128), "c");
}

// The last line that covers an address names it: checked against that very rule.
TEST(PerfMap, EqualsTheRuleForRandomLines) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 100; ++round) {
        std::vector<std::string> owner(600, "-");
        std::string text;
        for (int line = 0; line < 40; ++line) {
            const auto start = random() % 500;
            const auto size = 1 + random() % 99;
            const auto name = "f" + std::to_string(line);
            char numbers[64];
            std::snprintf(numbers, sizeof(numbers), "%lx %lx ", start, size);
            text += numbers + name + '\n';
            for (auto i = start; i < start + size; ++i) owner[i] = name;
        }
        const auto map = PerfMap::parse(text);
        for (std::size_t i = 0; i < owner.size(); ++i) ASSERT_EQ(at(map, i), owner[i]) << round << ' ' << i;
    }
}

// However the text comes in, the map is the same, and names handed out stay where they are.
TEST(PerfMap, GrowsLineByLine) {
    const std::string text = "1000 10 a\n2000 10 bb\nnonsense\n1000 8 ccc\n3000 10 ddd ddd\n4000 10 tail";
    for (std::size_t step = 1; step <= text.size(); ++step) {
        PerfMap map;
        std::string_view first_name;
        std::size_t taken = 0;
        for (std::size_t held = 0; held <= text.size(); held += step) {
            taken += map.append(std::string_view(text).substr(taken, held - taken));
            if (first_name.empty() && map.find(RuntimeAddress{0x1000}))
                first_name = map.find(RuntimeAddress{0x1000})->name;
        }
        taken += map.append(std::string_view(text).substr(taken));
        EXPECT_EQ(taken, text.rfind('\n') + 1);
        EXPECT_EQ(at(map, 0x1000), "ccc");
        EXPECT_EQ(at(map, 0x1008), "a");
        EXPECT_EQ(at(map, 0x3000), "ddd ddd");
        EXPECT_EQ(at(map, 0x4000), "-");
        EXPECT_EQ(map.malformed_lines(), 1U);
        EXPECT_TRUE(first_name == "a" || first_name == "ccc") << first_name;
    }
}

TEST(PerfMap, AnEndlessLineIsPassedOver) {
    PerfMapLimits limits;
    limits.line_length = 100;
    PerfMap map(limits);
    EXPECT_EQ(map.append("1000 10 a\n2000 10 " + std::string(100, 'x')), 10U + 8 + 100);
    EXPECT_EQ(map.append(std::string(200, 'x')), 200U);
    EXPECT_EQ(map.append("x\n3000 10 b\n"), 12U);
    EXPECT_EQ(at(map, 0x2000), "-");
    EXPECT_EQ(at(map, 0x3000), "b");
    EXPECT_EQ(map.malformed_lines(), 1U);
}

TEST(PerfMap, IsBounded) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += std::to_string(10000 + 100 * i) + " 10 " + std::string(50, 'n') + '\n';
    PerfMapLimits limits;
    limits.functions = 100;
    EXPECT_EQ(PerfMap::parse(text, limits).size(), 100U);
    EXPECT_TRUE(PerfMap::parse(text, limits).cut());
    limits = {};
    limits.name_bytes = 1000;
    EXPECT_EQ(PerfMap::parse(text, limits).size(), 20U);
    limits = {};
    limits.name_length = 8;
    EXPECT_EQ(at(PerfMap::parse(text, limits), 0x10000), "nnnnnnnn");
    EXPECT_EQ(PerfMap::parse("ffffffffffffffff 10 over the end\n").size(), 0U);
    EXPECT_EQ(at(PerfMap::parse("100 10 bad\x1b[0m\n"), 0x100), "bad\\x1b[0m");
}

TEST(InnermostPid, IsTheLastOfItsNumbers) {
    EXPECT_EQ(innermost_pid("Name:\tx\nNSpid:\t4242\t17\t3\nVmRSS:\t1\n", Pid{4242}), Pid{3});
    EXPECT_EQ(innermost_pid("NSpid:\t4242\n", Pid{4242}), Pid{4242});
    EXPECT_EQ(innermost_pid("Name:\tx\n", Pid{4242}), Pid{4242});
    EXPECT_EQ(innermost_pid("NSpid:\tx\n", Pid{4242}), Pid{4242});
}

PerfMapSearch search_in(const test::TempFolder& folder) {
    return {.proc = folder / "proc", .host_root = folder / "host"};
}

TEST(PerfMapFile, IsFoundInTheProcessesOwnRoot) {
    const test::TempFolder folder;
    folder.write("proc/42/status", "NSpid:\t42\t7\n");
    folder.symlink("proc/42/root", folder / "container");
    folder.write("container/tmp/perf-7.map", "100 10 jitted\n");
    const auto file = open_perf_map(Pid{42}, search_in(folder));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(*read_fd((*file)->fd.get(), 1000), "100 10 jitted\n");
    EXPECT_FALSE(open_perf_map(Pid{43}, search_in(folder)));
}

TEST(PerfMapFile, OfAnotherUserIsNotBelieved) {
    const test::TempFolder folder;
    folder.write("proc/42/status", "NSpid:\t42\n");
    folder.symlink("proc/42/root", folder / "container");
    const auto map = folder.write("container/tmp/perf-42.map", "100 10 jitted\n");
    if (::chown(map.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give a file away";
    const auto file = open_perf_map(Pid{42}, search_in(folder));
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::kPermission);
}

}  // namespace
}  // namespace perfvigil::analyzer
