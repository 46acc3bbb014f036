// SPDX-License-Identifier: GPL-2.0-or-later
// The rule that holds while the instructions of one frame entry are executed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/symbols/child/unwind_entries.hpp"
#include "analyzer/symbols/unwind_format.hpp"
#include "base/bytes.hpp"

namespace perfvigil::analyzer {

inline constexpr unsigned kMostUnwindRegisters = 32;

struct UnwindState {
    struct Register {
        bool given = false;
        RegisterRuleKind kind = RegisterRuleKind::kUndefined;
        std::int64_t value = 0;  // offset or register
        Bytes expression{};
    };
    bool cfa_is_expression = false;
    std::uint64_t cfa_register = 0;
    std::int64_t cfa_offset = 0;
    Bytes cfa_expression{};
    std::array<Register, kMostUnwindRegisters> registers{};
};

// Executes one program of instructions upon a state, row by row.
class UnwindProgram {
public:
    // `initial`: the state that DW_CFA_restore goes back to.
    UnwindProgram(const FrameTerms& terms, UnwindMachine machine, const UnwindState& initial, UnwindState& state)
        : terms_(terms), known_(unwind_registers(machine)), initial_(initial), state_(state) {}

    // Executes up to where the location moves: by how much; 0 at the end or at what is not understood (then !ok()).
    [[nodiscard]] std::uint64_t run(ByteReader& in);
    [[nodiscard]] bool ok() const { return ok_; }

private:
    bool execute_simple(std::uint8_t operation, ByteReader& in);
    bool execute_cfa(std::uint8_t operation, ByteReader& in);
    bool execute_register(std::uint8_t operation, ByteReader& in);
    void set(std::uint64_t number, RegisterRuleKind kind, std::int64_t value, Bytes expression = {});
    void restore(std::uint64_t number);
    [[nodiscard]] std::int64_t factored(std::int64_t offset) const {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) *
                                         static_cast<std::uint64_t>(terms_.data_factor));
    }

    const FrameTerms& terms_;
    unsigned known_;
    const UnwindState& initial_;
    UnwindState& state_;
    std::vector<UnwindState> remembered_;
    bool ok_ = true;
};

}  // namespace perfvigil::analyzer
