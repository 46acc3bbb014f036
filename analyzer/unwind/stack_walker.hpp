// SPDX-License-Identifier: GPL-2.0-or-later
// From registers and a copy of the stack to the addresses of a call chain. Pure: what code lies where and what its
// tables say comes through CodeMap. Everything it is given may be rubbish: it ends all the same, and a chain that
// cannot be followed is said to end there, never joined to something else.
//
//   code with a table      the table's rule: CFA, return address, saved registers
//   code without a file    (JIT) frame pointers, which such code keeps to be profiled at all
//   arm64's vDSO           as a caller it is where signal handlers return to: the registers that the kernel put on
//                          the stack. (x86-64: that code is the C library's, and has a table.)
//   a file without a rule  frame pointers too, where what they lead to is plausible; such a step is counted as guessed
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/unwind/file_unwind.hpp"
#include "analyzer/unwind/registers.hpp"

namespace perfvigil::analyzer {

// What lies at one address.
struct CodeAt {
    enum class Kind : std::uint8_t {
        kNothing,  // no code
        kTable,    // `rule` holds there
        kJit,      // code without a file
        kNoRule,   // a file, but no table, or one that does not cover it
        kVdso,     // the kernel's vDSO without a table
    };
    Kind kind = Kind::kNothing;
    const UnwindRule* rule = nullptr;
};

class CodeMap {
public:
    virtual ~CodeMap() = default;
    // What the rule points to lives until the walk ends.
    [[nodiscard]] virtual CodeAt code_at(std::uint64_t address) = 0;
    // For want of a rule for that address a step was guessed, or the walk ends there.
    virtual void guessed(std::uint64_t address) = 0;
    virtual void stopped(std::uint64_t address) = 0;
};

enum class WalkEnd : std::uint8_t {
    kOutermost,  // the outermost function was reached
    kBroken,     // by the rules there should be a caller, but what they lead to is no code
    kNoRule,     // there is no rule, and nothing sensible where the frame pointer leads
    kCopyEnds,   // the stack goes on, its copy does not
    kTooDeep,
};

struct Walk {
    WalkEnd end = WalkEnd::kBroken;
    unsigned guessed = 0;  // steps
};

// Appends the sampled address and then return addresses to `chain`, as a call chain of the kernel has them: looked up
// one byte earlier. (The address that a signal interrupted is no return address: it is given one byte later.)
[[nodiscard]] Walk walk_stack(UnwindMachine machine, UnwindRegisters registers, const StackMemory& stack, CodeMap& code,
                              std::size_t max_frames, std::vector<std::uint64_t>& chain);

}  // namespace perfvigil::analyzer
