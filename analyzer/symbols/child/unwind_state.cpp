// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/unwind_state.hpp"

#include "base/leb128.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kMostRemembered = 64;

enum Operation : std::uint8_t {
    kNop = 0x00,
    kSetLocation = 0x01,
    kAdvance1 = 0x02,
    kAdvance2 = 0x03,
    kAdvance4 = 0x04,
    kOffsetExtended = 0x05,
    kRestoreExtended = 0x06,
    kUndefinedRegister = 0x07,
    kSameValue = 0x08,
    kInRegister = 0x09,
    kRemember = 0x0a,
    kRestoreState = 0x0b,
    kDefineCfa = 0x0c,
    kDefineCfaRegister = 0x0d,
    kDefineCfaOffset = 0x0e,
    kDefineCfaExpression = 0x0f,
    kSavedByExpression = 0x10,
    kOffsetExtendedSigned = 0x11,
    kDefineCfaSigned = 0x12,
    kDefineCfaOffsetSigned = 0x13,
    kValueIsOffset = 0x14,
    kValueIsOffsetSigned = 0x15,
    kValueByExpression = 0x16,
    kNegateSigningWithPc = 0x2c,  // arm64
    kNegateSigning = 0x2d,        // arm64; on SPARC register windows
    kArgumentsSize = 0x2e,        // GNU
    kNegativeOffset = 0x2f,       // GNU
    // The two high bits alone, an operand in the others.
    kAdvance = 0x40,
    kOffset = 0x80,
    kRestore = 0xc0,
};
constexpr std::uint8_t kHighBits = 0xc0;
constexpr std::uint8_t kLowBits = 0x3f;

}  // namespace

std::uint64_t UnwindProgram::run(ByteReader& in) {
    while (in.remaining() > 0) {
        const std::uint8_t operation = in.u8();
        std::uint64_t advance = 0;
        bool moves = true;
        switch (operation) {
            case kAdvance1: advance = in.u8(); break;
            case kAdvance2: advance = in.u16(); break;
            case kAdvance4: advance = in.u32(); break;
            default: moves = (operation & kHighBits) == kAdvance; advance = operation & kLowBits;
        }
        // No distance is no move.
        if (moves && in.ok() && advance * terms_.code_factor != 0) return advance * terms_.code_factor;
        if (!moves && !execute_simple(operation, in)) ok_ = false;
        if (!in.ok()) ok_ = false;
        if (!ok_) return 0;
    }
    return 0;
}

bool UnwindProgram::execute_simple(std::uint8_t operation, ByteReader& in) {
    const std::uint8_t low = operation & kLowBits;
    if ((operation & kHighBits) == kOffset) {
        set(low, RegisterRuleKind::kOffset, factored(static_cast<std::int64_t>(read_uleb128(in))));
        return true;
    }
    if ((operation & kHighBits) == kRestore) {
        restore(low);
        return true;
    }
    switch (operation) {
        case kNop:
        case kNegateSigning:
        case kNegateSigningWithPc: return true;
        case kArgumentsSize: (void)read_uleb128(in); return true;
        case kRemember:
            if (remembered_.size() >= kMostRemembered) return false;
            remembered_.push_back(state_);
            return true;
        case kRestoreState:
            if (remembered_.empty()) return false;
            state_ = remembered_.back();
            remembered_.pop_back();
            return true;
        default: return execute_cfa(operation, in) || execute_register(operation, in);
    }
}

bool UnwindProgram::execute_cfa(std::uint8_t operation, ByteReader& in) {
    switch (operation) {
        case kDefineCfa:
            state_.cfa_register = read_uleb128(in);
            state_.cfa_offset = static_cast<std::int64_t>(read_uleb128(in));
            break;
        case kDefineCfaSigned:
            state_.cfa_register = read_uleb128(in);
            state_.cfa_offset = factored(read_sleb128(in));
            break;
        case kDefineCfaRegister: state_.cfa_register = read_uleb128(in); break;
        case kDefineCfaOffset: state_.cfa_offset = static_cast<std::int64_t>(read_uleb128(in)); break;
        case kDefineCfaOffsetSigned: state_.cfa_offset = factored(read_sleb128(in)); break;
        case kDefineCfaExpression:
            state_.cfa_expression = in.take(read_uleb128(in));
            state_.cfa_is_expression = true;
            return true;
        default: return false;
    }
    state_.cfa_is_expression = false;
    return true;
}

bool UnwindProgram::execute_register(std::uint8_t operation, ByteReader& in) {
    using Kind = RegisterRuleKind;
    if (operation < kOffsetExtended || (operation > kValueByExpression && operation != kNegativeOffset)) return false;
    const std::uint64_t number = read_uleb128(in);
    const auto unsigned_offset = [&] { return factored(static_cast<std::int64_t>(read_uleb128(in))); };
    switch (operation) {
        case kOffsetExtended: set(number, Kind::kOffset, unsigned_offset()); return true;
        case kOffsetExtendedSigned: set(number, Kind::kOffset, factored(read_sleb128(in))); return true;
        case kNegativeOffset: set(number, Kind::kOffset, -unsigned_offset()); return true;
        case kValueIsOffset: set(number, Kind::kValueOffset, unsigned_offset()); return true;
        case kValueIsOffsetSigned: set(number, Kind::kValueOffset, factored(read_sleb128(in))); return true;
        case kInRegister: set(number, Kind::kRegister, static_cast<std::int64_t>(read_uleb128(in))); return true;
        case kSavedByExpression: set(number, Kind::kExpression, 0, in.take(read_uleb128(in))); return true;
        case kValueByExpression: set(number, Kind::kValueExpression, 0, in.take(read_uleb128(in))); return true;
        case kUndefinedRegister: set(number, Kind::kUndefined, 0); return true;
        case kSameValue:
            if (number < known_) state_.registers[number] = {};
            return true;
        case kRestoreExtended: restore(number); return true;
        default: return false;
    }
}

void UnwindProgram::set(std::uint64_t number, RegisterRuleKind kind, std::int64_t value, Bytes expression) {
    // Vector registers and the like lead to no caller.
    if (number >= known_) return;
    state_.registers[number] = {.given = true, .kind = kind, .value = value, .expression = expression};
}

void UnwindProgram::restore(std::uint64_t number) {
    if (number < known_) state_.registers[number] = initial_.registers[number];
}

}  // namespace perfvigil::analyzer
