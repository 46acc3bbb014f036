// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/unwind/expression.hpp"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <random>
#include <vector>

namespace perfvigil::analyzer {
namespace {

class Expressions : public testing::Test {
protected:
    Expressions() {
        registers.set(7, 0x7ffd1000);
        registers.set(6, 0x7ffd1010);
        registers.pc = 0x401236;
        for (std::uint64_t i = 0; i < words.size(); ++i) words[i] = 0x100 + i;
    }
    std::optional<std::uint64_t> value(std::initializer_list<int> operations,
                                       std::optional<std::uint64_t> cfa = std::nullopt) {
        std::vector<std::byte> bytes;
        for (const int operation : operations) bytes.push_back(static_cast<std::byte>(operation));
        return evaluate(bytes, UnwindMachine::kX86_64, registers, stack(), cfa);
    }
    [[nodiscard]] StackMemory stack() const { return {0x7ffd1000, std::as_bytes(std::span(words))}; }

    UnwindRegisters registers;
    std::array<std::uint64_t, 4> words{};
};

// As ld writes for .plt: rsp + 8, and 8 more behind the push, which is at offset 11 of each 16 bytes.
TEST_F(Expressions, ThePltOfX86) {
    const std::initializer_list<int> plt = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    registers.pc = 0x40103a;
    EXPECT_EQ(value(plt), 0x7ffd1008U);
    registers.pc = 0x40103b;
    EXPECT_EQ(value(plt), 0x7ffd1010U);
    registers.pc = 0x40103f;
    EXPECT_EQ(value(plt), 0x7ffd1010U);
}

// As glibc writes for __restore_rt: the CFA is what the saved context holds.
TEST_F(Expressions, ASavedContextOnTheStack) {
    EXPECT_EQ(value({0x77, 0x10, 0x06}), 0x102U);
    EXPECT_EQ(value({0x77, 0x18}), 0x7ffd1018U);
    EXPECT_EQ(value({0x77, 0x20, 0x06}), std::nullopt) << "behind what was copied";
    EXPECT_EQ(value({0x77, 0x78, 0x06}), std::nullopt) << "below it";
}

TEST_F(Expressions, TheCfaLiesOnTheStackWhereThereIsOne) {
    EXPECT_EQ(value({0x23, 16}, 0x5000), 0x5010U);
    EXPECT_EQ(value({}, 0x5000), 0x5000U);
    EXPECT_EQ(value({}), std::nullopt);
    EXPECT_EQ(value({0x23, 16}), std::nullopt);
}

TEST_F(Expressions, EveryOperation) {
    struct Case {
        std::initializer_list<int> operations;
        std::uint64_t result;
    };
    constexpr auto kMinus1 = ~std::uint64_t{0};
    const Case cases[] = {
        {{0x03, 1, 2, 0, 0, 0, 0, 0, 0}, 0x201},
        {{0x08, 0xff}, 0xff},
        {{0x09, 0xff}, kMinus1},
        {{0x0a, 1, 1}, 0x101},
        {{0x0b, 0xff, 0xff}, kMinus1},
        {{0x0c, 0, 0, 0, 0x80}, 0x80000000},
        {{0x0d, 0, 0, 0, 0x80}, 0xffffffff80000000},
        {{0x0e, 8, 0, 0, 0, 0, 0, 0, 0x80}, 0x8000000000000008},
        {{0x0f, 8, 0, 0, 0, 0, 0, 0, 0x80}, 0x8000000000000008},
        {{0x10, 0x80, 1}, 128},
        {{0x11, 0x7f}, kMinus1},
        {{0x31, 0x12, 0x22}, 2},           // 1 twice, added
        {{0x35, 0x36, 0x13}, 5},           // the 6 goes
        {{0x35, 0x36, 0x14}, 5},           // the one below
        {{0x35, 0x36, 0x37, 0x15, 2}, 5},  // two below
        {{0x35, 0x33, 0x16, 0x1c}, kMinus1 - 1},
        {{0x31, 0x32, 0x33, 0x17, 0x13, 0x13}, 3},  // 3 1 2
        {{0x11, 0x7b, 0x19}, 5},
        {{0x36, 0x33, 0x1a}, 2},
        {{0x35, 0x33, 0x1c}, 2},
        {{0x35, 0x33, 0x1e}, 15},
        {{0x31, 0x1f}, kMinus1},
        {{0x30, 0x20}, kMinus1},
        {{0x34, 0x33, 0x21}, 7},
        {{0x34, 0x23, 0x80, 2}, 260},
        {{0x31, 0x34, 0x24}, 16},
        {{0x31, 0x08, 64, 0x24}, 0},
        {{0x11, 0x70, 0x31, 0x25}, 0x7ffffffffffffff8},
        {{0x11, 0x70, 0x31, 0x26}, kMinus1 - 7},
        {{0x11, 0x70, 0x08, 200, 0x26}, kMinus1},
        {{0x36, 0x33, 0x27}, 5},
        {{0x33, 0x33, 0x29}, 1},
        {{0x11, 0x7f, 0x30, 0x2a}, 0},
        {{0x33, 0x32, 0x2b}, 1},
        {{0x11, 0x7f, 0x30, 0x2c}, 1},
        {{0x33, 0x33, 0x2d}, 0},
        {{0x33, 0x32, 0x2e}, 1},
        {{0x4f}, 31},
        {{0x92, 6, 8}, 0x7ffd1018},
        {{0x96, 0x31, 0x96}, 1},
    };
    int number = 0;
    for (const auto& [operations, result] : cases) EXPECT_EQ(value(operations), result) << "case " << number++;
}

TEST_F(Expressions, WhatHasNoValue) {
    EXPECT_EQ(value({0x70, 0}), std::nullopt) << "rax is not known";
    EXPECT_EQ(value({0x92, 0x80, 0x80, 0x80, 1, 0}), std::nullopt) << "no such register";
    EXPECT_EQ(value({0x22}), std::nullopt);
    EXPECT_EQ(value({0x31, 0x16}), std::nullopt);
    EXPECT_EQ(value({0x31, 0x32, 0x17}), std::nullopt);
    EXPECT_EQ(value({0x31, 0x15, 1}), std::nullopt);
    EXPECT_EQ(value({0x0e, 1}), std::nullopt) << "cut off";
    EXPECT_EQ(value({0x31, 0x2f, 0xfd, 0xff}), std::nullopt) << "a jump back: no loops";
    EXPECT_EQ(value({0x31, 0x31, 0x1b}), std::nullopt) << "nobody divides";
    std::vector<std::byte> many(100, std::byte{0x31});
    EXPECT_EQ(evaluate(many, UnwindMachine::kX86_64, registers, stack(), {}), std::nullopt) << "too many values";
}

TEST_F(Expressions, RubbishEnds) {
    std::mt19937_64 random(1);
    int answered = 0;
    for (int round = 0; round < 20000; ++round) {
        std::vector<std::byte> bytes(random() % 40);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random());
        const auto machine = round % 2 == 0 ? UnwindMachine::kX86_64 : UnwindMachine::kArm64;
        if (evaluate(bytes, machine, registers, stack(), random())) ++answered;
    }
    // Few random bytes are an expression with a value.
    EXPECT_GT(answered, 0);
    EXPECT_LT(answered, 10000);
}

}  // namespace
}  // namespace perfvigil::analyzer
