// SPDX-License-Identifier: GPL-2.0-or-later
// A walk with a hostile table, hostile registers and a hostile stack: it ends within its limit, and every caller lies
// in code. Input: u8 machine, u16 size of a table, the table, u64 pc, u64 per register, the stack.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/unwind/stack_walker.hpp"

using namespace perfvigil;
using namespace perfvigil::analyzer;

namespace {

constexpr std::uint64_t kFileStart = 0x400000;
constexpr std::uint64_t kFileEnd = 0x410000;
constexpr std::uint64_t kJitStart = 0x500000;
constexpr std::uint64_t kJitEnd = 0x510000;
constexpr std::size_t kMost = 200;

class Code final : public CodeMap {
public:
    explicit Code(Result<FileUnwind>& table) : table_(table) {}
    CodeAt code_at(std::uint64_t address) override {
        if (address >= kJitStart && address < kJitEnd) return {.kind = CodeAt::Kind::kJit};
        if (address < kFileStart || address >= kFileEnd) return {};
        const UnwindRule* rule = table_ ? table_->find(LinkAddress{address}) : nullptr;
        return {.kind = rule != nullptr ? CodeAt::Kind::kTable : CodeAt::Kind::kNoRule, .rule = rule};
    }
    void guessed(std::uint64_t address) override {
        if (code_at(address).kind == CodeAt::Kind::kNothing) std::abort();
    }
    void stopped(std::uint64_t address) override { (void)code_at(address); }

private:
    Result<FileUnwind>& table_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ByteReader in(std::as_bytes(std::span(data, size)));
    const auto machine = (in.u8() & 1U) == 0 ? UnwindMachine::kX86_64 : UnwindMachine::kArm64;
    const Bytes table_bytes = in.take(in.u16());
    auto table = FileUnwind::from_bytes(table_bytes);
    if (table && table->machine() != machine) return 0;
    UnwindRegisters registers;
    registers.pc = in.u64();
    for (unsigned i = 0; i < UnwindRegisters::kCount && in.remaining() >= 8; ++i) registers.set(i, in.u64());
    const std::uint64_t sp = registers[roles_of(machine).stack].value_or(0);
    const StackMemory stack(sp, in.rest());
    Code code(table);
    std::vector<std::uint64_t> chain;
    (void)walk_stack(machine, registers, stack, code, kMost, chain);
    if (chain.empty() || chain.size() > kMost) std::abort();
    for (std::size_t i = 1; i < chain.size(); ++i) {
        if (code.code_at(chain[i] - 1).kind == CodeAt::Kind::kNothing) std::abort();
    }
    return 0;
}
