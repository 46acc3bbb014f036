// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/function_ranges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

namespace perfvigil::analyzer {
namespace {

FunctionSymbol symbol(std::string_view name, std::uint64_t start, std::uint64_t size, std::uint64_t limit = 0x1000) {
    FunctionSymbol made;
    made.start = start;
    made.size = size;
    made.limit = limit;
    made.name = name;
    made.global = true;
    return made;
}

// "name@start-end …"
std::string text(std::vector<FunctionSymbol> symbols) {
    std::string out;
    for (const auto& range : disjoint_ranges(symbols)) {
        if (!out.empty()) out += ' ';
        out += std::string(symbols[range.symbol].name) + '@' + std::to_string(range.start) + '-' +
               std::to_string(range.end);
    }
    return out;
}

TEST(FunctionRanges, SortsAndKeepsGaps) {
    EXPECT_EQ(text({symbol("b", 50, 10), symbol("a", 10, 20)}), "a@10-30 b@50-60");
    EXPECT_EQ(text({}), "");
}

TEST(FunctionRanges, SizelessReachToTheNextOrTheLimit) {
    EXPECT_EQ(text({symbol("a", 10, 0, 100), symbol("b", 20, 0, 100)}), "a@10-20 b@20-100");
    EXPECT_EQ(text({symbol("a", 10, 0, 15), symbol("b", 20, 5)}), "a@10-15 b@20-25");
    EXPECT_EQ(text({symbol("gone", 10, 0, 10), symbol("b", 20, 5)}), "b@20-25");
}

TEST(FunctionRanges, InnerInterruptsOuter) {
    EXPECT_EQ(text({symbol("outer", 0, 100), symbol("inner", 40, 10)}), "outer@0-40 inner@40-50 outer@50-100");
    EXPECT_EQ(text({symbol("a", 0, 100), symbol("b", 10, 80), symbol("c", 20, 10)}),
              "a@0-10 b@10-20 c@20-30 b@30-90 a@90-100");
    EXPECT_EQ(text({symbol("a", 0, 20), symbol("b", 10, 20)}), "a@0-10 b@10-30");
}

TEST(FunctionRanges, ChoosesOneOfSeveralAtOneAddressAsPerfDoes) {
    auto weak = symbol("strong_looking", 0, 8);
    weak.weak = true;
    weak.global = false;
    auto local = symbol("local_with_long_name", 0, 8);
    local.global = false;
    EXPECT_EQ(text({weak, symbol("x", 0, 8)}), "x@0-8");
    EXPECT_EQ(text({local, symbol("x", 0, 8)}), "x@0-8");
    EXPECT_EQ(text({symbol("sizeless_long", 0, 0), symbol("x", 0, 8)}), "x@0-8");
    EXPECT_EQ(text({symbol("__write", 0, 8), symbol("write", 0, 8)}), "write@0-8");
    EXPECT_EQ(text({symbol("short", 0, 8), symbol("longer", 0, 8)}), "longer@0-8");
}

TEST(FunctionRanges, LabelsCountOnlyOutsideFunctions) {
    auto inside = symbol("loop", 5, 0);
    inside.label = true;
    auto outside = symbol("asm_entry", 20, 0, 32);
    outside.label = true;
    EXPECT_EQ(text({symbol("f", 0, 10), inside, outside}), "f@0-10 asm_entry@20-32");
}

TEST(FunctionRanges, SurvivesSizesAtTheEndOfNumbers) {
    constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(text({symbol("all", 5, kMax)}), "all@5-" + std::to_string(kMax));
    EXPECT_EQ(text({symbol("last", kMax, 1, kMax)}), "");
}

// Whatever comes in, what goes out ascends, is disjoint, and each address belongs to a symbol that covers it.
TEST(FunctionRanges, AreDisjointForRandomSymbols) {
    std::mt19937_64 random(1);
    const auto draw = [&](std::uint64_t n) { return random() % n; };
    for (int round = 0; round < 200; ++round) {
        std::vector<FunctionSymbol> symbols;
        for (std::size_t i = draw(60); i > 0; --i) {
            auto made = symbol("n", draw(200), draw(50), 300);
            made.label = draw(5) == 0;
            made.weak = draw(3) == 0;
            symbols.push_back(made);
        }
        const auto ranges = disjoint_ranges(symbols);
        std::uint64_t position = 0;
        for (const auto& range : ranges) {
            ASSERT_GE(range.start, position);
            ASSERT_GT(range.end, range.start);
            position = range.end;
            const auto& owner = symbols[range.symbol];
            EXPECT_LE(owner.start, range.start);
            EXPECT_GE(owner.start + owner.size, range.end);
        }
        for (const auto& kept : symbols) {
            if (kept.size == 0) continue;
            const auto covers = [&](const FunctionRange& r) { return r.start <= kept.start && kept.start < r.end; };
            EXPECT_TRUE(std::ranges::any_of(ranges, covers)) << kept.start;
        }
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
