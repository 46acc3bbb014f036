// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/unwind/expression.hpp"

#include <array>
#include <utility>

#include "base/leb128.hpp"

namespace perfvigil::analyzer {
namespace {

enum Operation : std::uint8_t {
    kAddress = 0x03,
    kDereference = 0x06,
    kConst1u = 0x08,
    kConst1s = 0x09,
    kConst2u = 0x0a,
    kConst2s = 0x0b,
    kConst4u = 0x0c,
    kConst4s = 0x0d,
    kConst8u = 0x0e,
    kConst8s = 0x0f,
    kConstU = 0x10,
    kConstS = 0x11,
    kDuplicate = 0x12,
    kDrop = 0x13,
    kOver = 0x14,
    kPick = 0x15,
    kSwap = 0x16,
    kRotate = 0x17,
    kAbs = 0x19,
    kAnd = 0x1a,
    kMinus = 0x1c,
    kMultiply = 0x1e,
    kNegate = 0x1f,
    kNot = 0x20,
    kOr = 0x21,
    kPlus = 0x22,
    kPlusConst = 0x23,
    kShiftLeft = 0x24,
    kShiftRight = 0x25,
    kShiftArithmetic = 0x26,
    kXor = 0x27,
    kEqual = 0x29,
    kGreaterOrEqual = 0x2a,
    kGreater = 0x2b,
    kLessOrEqual = 0x2c,
    kLess = 0x2d,
    kNotEqual = 0x2e,
    kLiteral0 = 0x30,
    kLiteral31 = 0x4f,
    kRegisterBase0 = 0x70,
    kRegisterBase31 = 0x8f,
    kRegisterBase = 0x92,
    kNothing = 0x96,
};

std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t extended(std::int64_t value) { return static_cast<std::uint64_t>(value); }

class Evaluation {
public:
    Evaluation(UnwindMachine machine, const UnwindRegisters& registers, const StackMemory& stack)
        : machine_(machine), registers_(registers), memory_(stack) {}

    std::optional<std::uint64_t> run(Bytes expression, std::optional<std::uint64_t> cfa) {
        if (cfa) push(*cfa);
        ByteReader in(expression);
        while (in.remaining() > 0 && ok_) {
            const std::uint8_t operation = in.u8();
            if (!push_constant(operation, in) && !move(operation, in) && !unary(operation, in) && !binary(operation)) {
                return std::nullopt;
            }
        }
        if (!ok_ || !in.ok() || size_ == 0) return std::nullopt;
        return values_[size_ - 1];
    }

private:
    void push(std::uint64_t value) {
        if (size_ == values_.size())
            ok_ = false;
        else
            values_[size_++] = value;
    }
    std::uint64_t pop() {
        if (size_ == 0) {
            ok_ = false;
            return 0;
        }
        return values_[--size_];
    }
    // The value `depth` below the top.
    std::uint64_t peek(std::size_t depth) {
        if (depth < size_) return values_[size_ - 1 - depth];
        ok_ = false;
        return 0;
    }
    void push_register(std::uint64_t number, std::int64_t offset) {
        const bool return_column = machine_ == UnwindMachine::kX86_64 && number == 16;
        const auto value = return_column ? registers_.pc : registers_[static_cast<unsigned>(number & 0xffU)];
        if (!value || number > 0xff)
            ok_ = false;
        else
            push(*value + extended(offset));
    }

    bool push_constant(std::uint8_t operation, ByteReader& in) {
        if (operation >= kLiteral0 && operation <= kLiteral31) return push(operation - kLiteral0), true;
        if (operation >= kRegisterBase0 && operation <= kRegisterBase31) {
            return push_register(operation - kRegisterBase0, read_sleb128(in)), true;
        }
        switch (operation) {
            case kAddress:
            case kConst8u:
            case kConst8s: push(in.u64()); return true;
            case kConst1u: push(in.u8()); return true;
            case kConst1s: push(extended(static_cast<std::int8_t>(in.u8()))); return true;
            case kConst2u: push(in.u16()); return true;
            case kConst2s: push(extended(static_cast<std::int16_t>(in.u16()))); return true;
            case kConst4u: push(in.u32()); return true;
            case kConst4s: push(extended(in.i32())); return true;
            case kConstU: push(read_uleb128(in)); return true;
            case kConstS: push(extended(read_sleb128(in))); return true;
            case kRegisterBase: {
                const std::uint64_t number = read_uleb128(in);
                push_register(number, read_sleb128(in));
                return true;
            }
            case kNothing: return true;
            default: return false;
        }
    }

    bool move(std::uint8_t operation, ByteReader& in) {
        switch (operation) {
            case kDuplicate: push(peek(0)); return true;
            case kDrop: (void)pop(); return true;
            case kOver: push(peek(1)); return true;
            case kPick: push(peek(in.u8())); return true;
            case kSwap:
                if (size_ < 2) return false;
                std::swap(values_[size_ - 1], values_[size_ - 2]);
                return true;
            case kRotate:
                if (size_ < 3) return false;
                std::swap(values_[size_ - 1], values_[size_ - 2]);
                std::swap(values_[size_ - 2], values_[size_ - 3]);
                return true;
            default: return false;
        }
    }

    bool unary(std::uint8_t operation, ByteReader& in) {
        switch (operation) {
            case kDereference: {
                const auto value = memory_.read(pop());
                if (!value) return false;
                push(*value);
                return true;
            }
            case kAbs: {
                const std::uint64_t value = pop();
                push(as_signed(value) < 0 ? 0 - value : value);
                return true;
            }
            case kNegate: push(0 - pop()); return true;
            case kNot: push(~pop()); return true;
            case kPlusConst: push(pop() + read_uleb128(in)); return true;
            default: return false;
        }
    }

    bool binary(std::uint8_t operation) {
        if (size_ < 2) return false;
        const std::uint64_t right = pop();
        const std::uint64_t left = pop();
        switch (operation) {
            case kAnd: push(left & right); return true;
            case kOr: push(left | right); return true;
            case kXor: push(left ^ right); return true;
            case kPlus: push(left + right); return true;
            case kMinus: push(left - right); return true;
            case kMultiply: push(left * right); return true;
            case kShiftLeft: push(right < 64 ? left << right : 0); return true;
            case kShiftRight: push(right < 64 ? left >> right : 0); return true;
            case kShiftArithmetic: push(extended(as_signed(left) >> (right < 64 ? right : 63))); return true;
            case kEqual: push(left == right ? 1 : 0); return true;
            case kNotEqual: push(left != right ? 1 : 0); return true;
            case kGreaterOrEqual: push(as_signed(left) >= as_signed(right) ? 1 : 0); return true;
            case kGreater: push(as_signed(left) > as_signed(right) ? 1 : 0); return true;
            case kLessOrEqual: push(as_signed(left) <= as_signed(right) ? 1 : 0); return true;
            case kLess: push(as_signed(left) < as_signed(right) ? 1 : 0); return true;
            default: return false;
        }
    }

    UnwindMachine machine_;
    const UnwindRegisters& registers_;
    const StackMemory& memory_;
    std::array<std::uint64_t, 32> values_{};
    std::size_t size_ = 0;
    bool ok_ = true;
};

}  // namespace

std::optional<std::uint64_t> evaluate(Bytes expression, UnwindMachine machine, const UnwindRegisters& registers,
                                      const StackMemory& stack, std::optional<std::uint64_t> cfa) {
    return Evaluation(machine, registers, stack).run(expression, cfa);
}

}  // namespace perfvigil::analyzer
