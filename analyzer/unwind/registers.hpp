// SPDX-License-Identifier: GPL-2.0-or-later
// The registers of one frame and the stack that was copied with a sample, in DWARF's numbers. Registers of callers are
// those that could be restored; others are unknown, never guessed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "analyzer/symbols/unwind_format.hpp"
#include "base/bytes.hpp"

namespace perfvigil::analyzer {

class UnwindRegisters {
public:
    static constexpr unsigned kCount = 32;

    [[nodiscard]] std::optional<std::uint64_t> operator[](unsigned number) const {
        if (!known(number)) return std::nullopt;
        return values_[number];
    }
    [[nodiscard]] bool known(unsigned number) const { return number < kCount && ((known_ >> number) & 1U) != 0; }
    void set(unsigned number, std::uint64_t value) {
        values_[number] = value;
        known_ |= 1U << number;
    }
    void set(unsigned number, std::optional<std::uint64_t> value) {
        if (value)
            set(number, *value);
        else
            forget(number);
    }
    void forget(unsigned number) { known_ &= ~(1U << number); }

    std::uint64_t pc = 0;  // of x86-64 also the return column, which is no register there

private:
    std::array<std::uint64_t, kCount> values_{};
    std::uint32_t known_ = 0;
};

// The registers with a role.
struct RegisterRoles {
    unsigned stack = 0;
    unsigned frame = 0;
    unsigned return_address = 0;  // x86-64: the return column; arm64: the link register
};
[[nodiscard]] constexpr RegisterRoles roles_of(UnwindMachine machine) {
    if (machine == UnwindMachine::kArm64) return {.stack = 31, .frame = 29, .return_address = 30};
    return {.stack = 7, .frame = 6, .return_address = 16};
}

// A user address without what arm64 puts into its high bits (pointer authentication, tags).
[[nodiscard]] constexpr std::uint64_t plain_address(UnwindMachine machine, std::uint64_t address) {
    constexpr std::uint64_t kArm64Bits = (std::uint64_t{1} << 48U) - 1;
    return machine == UnwindMachine::kArm64 ? address & kArm64Bits : address;
}

class StackMemory {
public:
    // `bytes` begin at the address `start`, the stack pointer of the sample.
    StackMemory(std::uint64_t start, Bytes bytes) : start_(start), bytes_(bytes) {}

    [[nodiscard]] std::optional<std::uint64_t> read(std::uint64_t address) const {
        const std::uint64_t at = address - start_;
        if (address < start_ || bytes_.size() < sizeof(std::uint64_t) || at > bytes_.size() - sizeof(std::uint64_t)) {
            return std::nullopt;
        }
        std::uint64_t value = 0;
        std::memcpy(&value, bytes_.data() + at, sizeof value);
        return value;
    }
    // The stack goes on there, but the copy does not.
    [[nodiscard]] bool ends_before(std::uint64_t address) const {
        constexpr std::uint64_t kMostStack = std::uint64_t{1} << 30U;
        return address >= start_ && address - start_ < kMostStack && !read(address);
    }
    [[nodiscard]] std::uint64_t start() const { return start_; }

private:
    std::uint64_t start_;
    Bytes bytes_;
};

}  // namespace perfvigil::analyzer
