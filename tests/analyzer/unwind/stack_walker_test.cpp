// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/unwind/stack_walker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <vector>

namespace perfvigil::analyzer {
namespace {

constexpr std::uint64_t kStack = 0x7ffd0000;
constexpr auto kX86 = UnwindMachine::kX86_64;
constexpr auto kArm = UnwindMachine::kArm64;

// Code by ranges of 0x1000 bytes, each with one rule.
class Code final : public CodeMap {
public:
    CodeAt code_at(std::uint64_t address) override {
        asked.push_back(address);
        const auto found = pages.find(address & ~std::uint64_t{0xfff});
        return found == pages.end() ? CodeAt{} : found->second;
    }
    void guessed(std::uint64_t address) override { guesses.push_back(address); }
    void stopped(std::uint64_t address) override { stops.push_back(address); }

    void jit(std::uint64_t page) { pages[page] = {.kind = CodeAt::Kind::kJit}; }
    void vdso(std::uint64_t page) { pages[page] = {.kind = CodeAt::Kind::kVdso}; }
    void file_without_rule(std::uint64_t page) { pages[page] = {.kind = CodeAt::Kind::kNoRule}; }
    UnwindRule& rule(std::uint64_t page) {
        UnwindRule& rule = rules[page];
        pages[page] = {.kind = CodeAt::Kind::kTable, .rule = &rule};
        return rule;
    }
    // CFA = register + offset, return address right below the CFA.
    UnwindRule& x86(std::uint64_t page, std::uint8_t reg, std::int32_t offset, std::vector<RegisterRule> saved = {}) {
        saved.push_back({.number = 16, .kind = RegisterRuleKind::kOffset, .value = -8});
        return described(page, reg, offset, 16, std::move(saved));
    }
    UnwindRule& arm(std::uint64_t page, std::uint8_t reg, std::int32_t offset, std::vector<RegisterRule> saved = {}) {
        return described(page, reg, offset, 30, std::move(saved));
    }

    std::map<std::uint64_t, CodeAt> pages;
    std::map<std::uint64_t, UnwindRule> rules;
    std::map<std::uint64_t, std::vector<RegisterRule>> registers;
    std::vector<std::uint64_t> asked;
    std::vector<std::uint64_t> guesses;
    std::vector<std::uint64_t> stops;

private:
    UnwindRule& described(std::uint64_t page, std::uint8_t reg, std::int32_t offset, std::uint8_t column,
                          std::vector<RegisterRule> saved) {
        registers[page] = std::move(saved);
        UnwindRule& made = rule(page);
        made.cfa_register = reg;
        made.cfa_offset = offset;
        made.return_column = column;
        made.registers = registers[page];
        return made;
    }
};

class StackWalker : public testing::Test {
protected:
    Walk walk(UnwindMachine machine = kX86, std::size_t most = 100) {
        chain.clear();
        return walk_stack(machine, registers, StackMemory(kStack, std::as_bytes(std::span(words))), code, most, chain);
    }
    void at(std::uint64_t pc, std::uint64_t sp = kStack) {
        registers.pc = pc;
        registers.set(7, sp);
    }
    void put(std::uint64_t offset, std::uint64_t value) { words.at(offset / 8) = value; }

    using Chain = std::vector<std::uint64_t>;
    Code code;
    UnwindRegisters registers;
    std::vector<std::uint64_t> words = std::vector<std::uint64_t>(64, 0);
    Chain chain;
};

TEST_F(StackWalker, ALeafItsCallerAndTheOutermost) {
    at(0x401005);
    code.x86(0x401000, 7, 8);   // leaf: nothing pushed
    code.x86(0x402000, 7, 32);  // 24 bytes of locals
    code.rule(0x403000).flags = kUnwindEnd;
    put(0, 0x402010);
    put(32, 0x403020);
    EXPECT_EQ(walk().end, WalkEnd::kOutermost);
    EXPECT_EQ(chain, (Chain{0x401005, 0x402010, 0x403020}));
    EXPECT_EQ(code.asked, (Chain{0x401005, 0x40200f, 0x40301f})) << "callers are looked up inside their call";
}

TEST_F(StackWalker, SavedRegistersComeBackForTheCallersThatNeedThem) {
    at(0x401005);
    registers.set(6, 0x1111);  // rbp holds something else in the leaf
    code.x86(0x401000, 7, 24, {{.number = 6, .kind = RegisterRuleKind::kOffset, .value = -16}});
    code.x86(0x402000, 6, 16, {{.number = 6, .kind = RegisterRuleKind::kOffset, .value = -16}});
    code.rule(0x403000).flags = kUnwindEnd;
    put(8, kStack + 0x80);  // the caller's rbp
    put(16, 0x402010);
    put(0x80, 0);
    put(0x88, 0x403020);
    EXPECT_EQ(walk().end, WalkEnd::kOutermost);
    EXPECT_EQ(chain, (Chain{0x401005, 0x402010, 0x403020}));
}

TEST_F(StackWalker, ASignalFrameLeadsToTheVeryInstruction) {
    at(0x401005);
    code.x86(0x401000, 7, 8);
    // The kernel's frame: everything is in the saved context, by expressions.
    static const std::array kRsp{std::byte{0x77}, std::byte{0x10}, std::byte{0x06}};
    static const std::array kRip{std::byte{0x77}, std::byte{0x18}};
    UnwindRule& signal = code.rule(0x402000);
    code.registers[0x402000] = {{.number = 16, .kind = RegisterRuleKind::kExpression, .value = 0, .expression = kRip}};
    signal.flags = kUnwindSignal | kUnwindExpression;
    signal.cfa_expression = kRsp;
    signal.return_column = 16;
    signal.registers = code.registers[0x402000];
    code.x86(0x403000, 7, 8);
    code.rule(0x404000).flags = kUnwindEnd;
    put(0, 0x402010);
    put(0x18, kStack + 0x100);  // rsp, where the context says (rsp after the return is stack + 8)
    put(0x20, 0x403000);        // interrupted at the first instruction of a function
    put(0x100, 0x404020);
    EXPECT_EQ(walk().end, WalkEnd::kOutermost);
    EXPECT_EQ(chain, (Chain{0x401005, 0x402010, 0x403001, 0x404020})) << "one later, as if it had called";
    EXPECT_EQ(code.asked.at(2), 0x403000U);
}

// arm64: the handler returns into the vDSO, which has no table, with the kernel's copy of all registers at the stack
// pointer.
TEST_F(StackWalker, ASignalFrameOfArm64LiesUnderItsVdso) {
    code.arm(0x401000, 31, 0x20, {{.number = 30, .kind = RegisterRuleKind::kOffset, .value = -8}});
    code.vdso(0x402000);
    code.arm(0x403000, 31, 0);  // interrupted before it saved anything
    code.arm(0x404000, 31, 0x10, {{.number = 30, .kind = RegisterRuleKind::kUndefined}});
    words.assign(200, 0);
    registers.pc = 0x401010;
    registers.set(31, kStack);
    words[3] = 0x402040;  // the handler's return address, right below the signal frame
    const std::size_t saved = 4 + (128 + 176) / 8 + 1;
    words[saved + 30] = 0x404020;  // x30: nothing else knows the caller
    words[saved + 31] = kStack + 150 * 8;
    words[saved + 32] = 0x403008;
    const Walk made = walk(UnwindMachine::kArm64);
    EXPECT_EQ(made.guessed, 0U);
    EXPECT_EQ(chain, (Chain{0x401010, 0x402040, 0x403009, 0x404020}));

    // In the system call that leaves the handler.
    registers.pc = 0x402048;
    registers.set(8, 139);
    registers.set(31, kStack + 4 * 8);
    EXPECT_EQ(walk(UnwindMachine::kArm64).guessed, 0U);
    EXPECT_EQ(chain, (Chain{0x402048, 0x403009, 0x404020}));

    registers.pc = 0x401010;
    registers.set(31, kStack);
    words.resize(saved + 20);
    EXPECT_EQ(walk(UnwindMachine::kArm64).end, WalkEnd::kCopyEnds);
    EXPECT_EQ(chain, (Chain{0x401010, 0x402040}));
}

// A function of the vDSO that was sampled is no signal frame.
TEST_F(StackWalker, SampledCodeOfTheVdsoHasNoRule) {
    code.vdso(0x402000);
    code.file_without_rule(0x403000);
    words.assign(200, 0x403000);
    registers.pc = 0x402100;
    registers.set(31, kStack);
    registers.set(29, 0);
    EXPECT_EQ(walk(UnwindMachine::kArm64).end, WalkEnd::kNoRule);
    EXPECT_EQ(chain, (Chain{0x402100}));
}

// In the system call that ends a signal handler the instruction pointer stands behind the code of the kernel's frame.
TEST_F(StackWalker, ASignalFrameThatIsJustBeingLeft) {
    at(0x403000);
    static const std::array kRsp{std::byte{0x77}, std::byte{0x08}, std::byte{0x06}};
    UnwindRule& signal = code.x86(0x402000, 7, 0);
    signal.flags = kUnwindSignal | kUnwindExpression;
    signal.cfa_expression = kRsp;
    code.file_without_rule(0x403000);
    code.x86(0x404000, 7, 8);
    code.rule(0x405000).flags = kUnwindEnd;
    put(8, kStack + 0x40);
    put(0x38, 0x404000);
    put(0x40, 0x405010);
    EXPECT_EQ(walk().end, WalkEnd::kOutermost);
    EXPECT_EQ(chain, (Chain{0x403000, 0x404001, 0x405010}));
    // Behind any other code it is what it looks like.
    signal.flags = kUnwindExpression;
    EXPECT_EQ(walk().end, WalkEnd::kNoRule);
    EXPECT_EQ(chain, Chain{0x403000});
}

TEST_F(StackWalker, JitCodeByFramePointersBetweenFunctionsWithTables) {
    at(0x401005);
    registers.set(6, kStack + 0x20);
    code.x86(0x401000, 7, 16);  // called out of JIT code, keeps rbp
    code.jit(0x7000000);
    code.jit(0x7001000);
    code.x86(0x402000, 7, 0x48, {{.number = 6, .kind = RegisterRuleKind::kOffset, .value = -16}});
    code.rule(0x403000).flags = kUnwindEnd;
    put(8, 0x7000123);
    put(0x20, kStack + 0x40);
    put(0x28, 0x7001456);
    put(0x40, 0xdead);  // whatever rbp held in the caller of the JIT code
    put(0x48, 0x402010);
    put(0x50 + 0x40, 0x403020);
    const Walk result = walk();
    EXPECT_EQ(result.end, WalkEnd::kOutermost);
    EXPECT_EQ(chain, (Chain{0x401005, 0x7000123, 0x7001456, 0x402010, 0x403020}));
    EXPECT_EQ(result.guessed, 0U) << "that is how such code is followed";
    EXPECT_TRUE(code.guesses.empty());
}

TEST_F(StackWalker, AFileWithoutATableIsGuessedByFramePointerAndSaysSo) {
    at(0x401005);
    registers.set(6, kStack + 0x20);
    code.file_without_rule(0x401000);
    code.x86(0x402000, 6, 16);
    code.rule(0x403000).flags = kUnwindEnd;
    put(0x20, kStack + 0x40);
    put(0x28, 0x402010);
    put(0x48, 0x403020);
    const Walk result = walk();
    EXPECT_EQ(result.end, WalkEnd::kOutermost);
    EXPECT_EQ(result.guessed, 1U);
    EXPECT_EQ(code.guesses, Chain{0x401005});
    EXPECT_EQ(chain, (Chain{0x401005, 0x402010, 0x403020}));
    // The register holds something else, or what it leads to is no code: the chain ends, for want of a rule.
    for (const std::uint64_t frame : {std::uint64_t{0}, std::uint64_t{5}, kStack - 8, kStack + 0x21, kStack + 0x1f8,
                                      kStack + 0x1000, kStack + 0x50, UINT64_MAX - 7}) {
        registers.set(6, frame);
        code.stops.clear();
        const Walk stopped = walk();
        EXPECT_EQ(stopped.end, WalkEnd::kNoRule) << frame;
        EXPECT_EQ(stopped.guessed, 0U) << frame;
        EXPECT_EQ(chain, Chain{0x401005}) << frame;
        EXPECT_EQ(code.stops, Chain{0x401005}) << frame;
    }
}

TEST_F(StackWalker, WhatTheCopyDoesNotHoldIsNotBroken) {
    at(0x401005);
    code.x86(0x401000, 7, 8);
    code.x86(0x402000, 7, 0x400);
    put(0, 0x402010);
    EXPECT_EQ(walk().end, WalkEnd::kCopyEnds);
    EXPECT_EQ(chain, (Chain{0x401005, 0x402010}));
    words.clear();
    EXPECT_EQ(walk().end, WalkEnd::kCopyEnds) << "none was copied at all";
    EXPECT_EQ(chain, Chain{0x401005});
}

TEST_F(StackWalker, AReturnAddressOutsideAllCodeIsBroken) {
    at(0x401005);
    code.x86(0x401000, 7, 8);
    put(0, 0x999999);
    EXPECT_EQ(walk().end, WalkEnd::kBroken);
    EXPECT_EQ(chain, Chain{0x401005});
    put(0, 0);
    EXPECT_EQ(walk().end, WalkEnd::kOutermost) << "zero is how run times end their stacks";
    at(0x999999);
    EXPECT_EQ(walk().end, WalkEnd::kBroken);
    EXPECT_EQ(chain, Chain{0x999999});
}

TEST_F(StackWalker, AStackThatGoesNowhereOrTooFarEnds) {
    at(0x401005);
    code.x86(0x401000, 7, 0);  // the CFA does not move
    put(0, 0x401010);
    EXPECT_EQ(walk().end, WalkEnd::kBroken);
    EXPECT_EQ(chain, Chain{0x401005});
    code.x86(0x401000, 7, 8);
    std::ranges::fill(words, 0x401010);
    EXPECT_EQ(walk(kX86, 10).end, WalkEnd::kTooDeep);
    EXPECT_EQ(chain.size(), 10U);
    EXPECT_EQ(walk(kX86, 1000).end, WalkEnd::kCopyEnds);
    EXPECT_EQ(chain.size(), 65U);
    // Frame pointers in a circle.
    code.jit(0x401000);
    registers.set(6, kStack);
    std::ranges::fill(words, 0x401010);
    put(0, kStack + 0x20);
    put(0x20, kStack);
    EXPECT_EQ(walk(kX86, 1000).end, WalkEnd::kBroken);
    EXPECT_EQ(chain.size(), 3U);
}

TEST_F(StackWalker, JitCodeWithoutACallerIsTheOutermost) {
    at(0x401005);
    code.jit(0x401000);
    registers.set(6, std::uint64_t{0});
    EXPECT_EQ(walk().end, WalkEnd::kOutermost);
    registers.forget(6);
    EXPECT_EQ(walk().end, WalkEnd::kBroken);
}

TEST_F(StackWalker, ARuleWhoseRegisterIsNotKnownIsNoRule) {
    at(0x401005);
    code.x86(0x401000, 3, 8);  // rbx was not recorded
    EXPECT_EQ(walk().end, WalkEnd::kNoRule);
    registers.set(3, kStack);
    code.rule(0x402000).flags = kUnwindEnd;
    put(0, 0x402010);
    EXPECT_EQ(walk().end, WalkEnd::kOutermost);
}

TEST_F(StackWalker, Arm64LeavesKeepTheAddressInALinkRegister) {
    registers.pc = 0x401004;
    registers.set(31, kStack);
    registers.set(30, 0x002a000000402010);  // signed: bits above the 48th
    code.arm(0x401000, 31, 0);
    code.arm(0x402000, 31, 32,
             {{.number = 29, .kind = RegisterRuleKind::kOffset, .value = -32},
              {.number = 30, .kind = RegisterRuleKind::kOffset, .value = -24}});
    code.rule(0x403000).flags = kUnwindEnd;
    put(8, 0x0055000000403020);
    EXPECT_EQ(walk(kArm).end, WalkEnd::kOutermost);
    EXPECT_EQ(chain, (Chain{0x401004, 0x402010, 0x403020}));
    // A caller that did not save it cannot have called.
    code.arm(0x402000, 31, 32);
    EXPECT_EQ(walk(kArm).end, WalkEnd::kBroken);
    EXPECT_EQ(chain, (Chain{0x401004, 0x402010}));
}

TEST_F(StackWalker, Arm64FramePointersSayNothingOfTheStackPointer) {
    registers.pc = 0x7000004;
    registers.set(31, kStack);
    registers.set(29, kStack + 0x10);
    code.jit(0x7000000);
    code.arm(0x402000, 31, 32);  // would need sp
    code.file_without_rule(0x403000);
    put(0x10, kStack + 0x30);
    put(0x18, 0x402010);
    put(0x38, 0x403020);
    const Walk result = walk(kArm);
    EXPECT_EQ(chain, (Chain{0x7000004, 0x402010, 0x403020}));
    EXPECT_EQ(result.guessed, 1U) << "by frame pointer, for the rule could not be used";
}

// Whatever is on the stack, in the registers and in the rules: the walk ends within its limit, and every address but
// the first lies in code.
TEST_F(StackWalker, RubbishEnds) {
    std::mt19937_64 random(11);
    const auto any = [&]() -> std::uint64_t {
        switch (random() % 5) {
            case 0: return random();
            case 1: return kStack + random() % 0x220;
            case 2: return (kStack + random() % 0x200) & ~std::uint64_t{7};
            case 3: return 0x401000 + random() % 0x4000;
            default: return random() % 3;
        }
    };
    for (int round = 0; round < 20000; ++round) {
        const auto machine = round % 2 == 0 ? kX86 : kArm;
        code = {};
        for (std::uint64_t page = 0x401000; page < 0x405000; page += 0x1000) {
            switch (random() % 4) {
                case 0: code.jit(page); break;
                case 1: code.file_without_rule(page); break;
                default: {
                    const auto number = [&] { return static_cast<std::uint8_t>(random() % unwind_registers(machine)); };
                    std::vector<RegisterRule> saved;
                    for (std::uint64_t i = random() % 4; i > 0; --i) {
                        saved.push_back({.number = number(),
                                         .kind = static_cast<RegisterRuleKind>(random() % 4),
                                         .value = static_cast<std::int32_t>(random() % 64) - 32});
                        if (saved.back().kind == RegisterRuleKind::kRegister) saved.back().value = number();
                    }
                    const auto offset = static_cast<std::int32_t>(random() % 64);
                    auto& rule = machine == kX86 ? code.x86(page, number(), offset, saved)
                                                 : code.arm(page, number(), offset, saved);
                    if (random() % 8 == 0) rule.flags = kUnwindSignal;
                }
            }
        }
        for (auto& word : words) word = any();
        for (unsigned i = 0; i < UnwindRegisters::kCount; ++i) registers.set(i, any());
        registers.pc = any();
        (void)walk(machine, 50);
        ASSERT_LE(chain.size(), 50U);
        for (std::size_t i = 1; i < chain.size(); ++i) {
            ASSERT_NE(code.code_at(chain[i] - 1).kind, CodeAt::Kind::kNothing);
        }
    }
}

}  // namespace
}  // namespace perfvigil::analyzer
