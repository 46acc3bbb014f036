// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/unwind/stack_walker.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "analyzer/unwind/expression.hpp"

namespace perfvigil::analyzer {
namespace {

enum class Step : std::uint8_t { kDone, kOutermost, kBroken, kCopyEnds };

class Walker {
public:
    Walker(UnwindMachine machine, const UnwindRegisters& registers, const StackMemory& stack, CodeMap& code)
        : machine_(machine), roles_(roles_of(machine)), registers_(registers), stack_(stack), code_(code) {}

    Walk run(std::size_t max_frames, std::vector<std::uint64_t>& chain) {
        chain.push_back(registers_.pc);
        CodeAt here = sampled_code();
        for (std::size_t frames = 1; frames < max_frames; ++frames) {
            const std::uint64_t from = exact_ ? registers_.pc : registers_.pc - 1;
            guess_ = false;
            const Step made = step(here);
            if (made == Step::kOutermost) return ended(WalkEnd::kOutermost);
            if (made == Step::kCopyEnds) return ended(WalkEnd::kCopyEnds);
            if (made == Step::kBroken) return stopped(from);
            if (registers_.pc == 0) return guess_ ? stopped(from) : ended(WalkEnd::kOutermost);
            here = code_.code_at(exact_ ? registers_.pc : registers_.pc - 1);
            if (here.kind == CodeAt::Kind::kNothing) return stopped(from);
            if (guess_) {
                ++guessed_;
                code_.guessed(from);
            }
            chain.push_back(exact_ ? registers_.pc + 1 : registers_.pc);
            innermost_ = false;
        }
        return ended(WalkEnd::kTooDeep);
    }

private:
    // A thread that is in rt_sigreturn stands right behind the code that called it, which ends there.
    [[nodiscard]] CodeAt sampled_code() {
        const CodeAt here = code_.code_at(registers_.pc);
        if (here.kind != CodeAt::Kind::kNoRule) return here;
        const CodeAt before = code_.code_at(registers_.pc - 1);
        const bool signal = before.kind == CodeAt::Kind::kTable && before.rule->has(kUnwindSignal);
        return signal ? before : here;
    }

    [[nodiscard]] Walk ended(WalkEnd end) const { return {.end = end, .guessed = guessed_}; }
    [[nodiscard]] Walk stopped(std::uint64_t from) {
        if (guess_) code_.stopped(from);
        return ended(guess_ ? WalkEnd::kNoRule : WalkEnd::kBroken);
    }

    Step step(const CodeAt& here) {
        if (here.kind == CodeAt::Kind::kNothing) return Step::kBroken;
        if (here.kind == CodeAt::Kind::kJit) return by_frame_pointer(Step::kOutermost);
        if (here.kind == CodeAt::Kind::kTable) {
            if (here.rule->has(kUnwindEnd)) return Step::kOutermost;
            if (const auto cfa = cfa_of(*here.rule)) return by_rule(*here.rule, *cfa);
        }
        if (here.kind == CodeAt::Kind::kVdso && machine_ == UnwindMachine::kArm64 && returns_from_signal()) {
            if (const auto stack = registers_[roles_.stack]) return by_signal_frame(*stack);
        }
        guess_ = true;
        return by_frame_pointer(Step::kBroken) == Step::kDone ? Step::kDone : Step::kBroken;
    }

    [[nodiscard]] std::optional<std::uint64_t> cfa_of(const UnwindRule& rule) const {
        if (rule.has(kUnwindExpression)) return evaluate(rule.cfa_expression, machine_, registers_, stack_, {});
        const auto base = registers_[rule.cfa_register];
        if (!base) return std::nullopt;
        return *base + static_cast<std::uint64_t>(std::int64_t{rule.cfa_offset});
    }

    Step by_rule(const UnwindRule& rule, std::uint64_t cfa) {
        // All values are of this frame's registers, so none is changed before the last one is known.
        std::array<std::optional<std::uint64_t>, UnwindRegisters::kCount> values;
        const std::size_t count = std::min(rule.registers.size(), values.size());
        std::optional<std::uint64_t> return_address;
        std::optional<std::uint64_t> stack_pointer = cfa;
        bool return_given = false;
        for (std::size_t i = 0; i < count; ++i) {
            const RegisterRule& saved = rule.registers[i];
            values[i] = value_of(saved, cfa);
            if (saved.number == rule.return_column) {
                if (!values[i]) return unreadable(saved, cfa);
                return_address = values[i];
                return_given = true;
            }
            if (saved.number == roles_.stack) stack_pointer = values[i];
        }
        // Where the address is not saved it is still in its register, as long as nothing has been called.
        if (!return_given && (innermost_ || exact_)) return_address = registers_[rule.return_column];
        const bool signal = rule.has(kUnwindSignal);
        if (!return_address || (!signal && !outwards(stack_pointer))) return Step::kBroken;
        for (std::size_t i = 0; i < count; ++i) {
            if (rule.registers[i].number < UnwindRegisters::kCount) registers_.set(rule.registers[i].number, values[i]);
        }
        registers_.set(roles_.stack, stack_pointer);
        registers_.pc = plain_address(machine_, *return_address);
        exact_ = signal;
        return Step::kDone;
    }

    // Callers lie further up. A leaf function may keep all it has in registers.
    [[nodiscard]] bool outwards(std::optional<std::uint64_t> after) const {
        const auto before = registers_[roles_.stack];
        if (!after) return false;
        return !before || *after > *before || ((innermost_ || exact_) && *after == *before);
    }

    [[nodiscard]] std::optional<std::uint64_t> value_of(const RegisterRule& rule, std::uint64_t cfa) const {
        const std::uint64_t shifted = cfa + static_cast<std::uint64_t>(std::int64_t{rule.value});
        switch (rule.kind) {
            case RegisterRuleKind::kUndefined: return std::nullopt;
            case RegisterRuleKind::kOffset: return stack_.read(shifted);
            case RegisterRuleKind::kValueOffset: return shifted;
            case RegisterRuleKind::kRegister: return registers_[static_cast<unsigned>(rule.value)];
            case RegisterRuleKind::kExpression: {
                const auto address = evaluate(rule.expression, machine_, registers_, stack_, cfa);
                return address ? stack_.read(*address) : std::nullopt;
            }
            case RegisterRuleKind::kValueExpression:
                return evaluate(rule.expression, machine_, registers_, stack_, cfa);
        }
        return std::nullopt;
    }

    // Why the return address is not there.
    [[nodiscard]] Step unreadable(const RegisterRule& rule, std::uint64_t cfa) const {
        std::optional<std::uint64_t> address;
        if (rule.kind == RegisterRuleKind::kOffset)
            address = cfa + static_cast<std::uint64_t>(std::int64_t{rule.value});
        else if (rule.kind == RegisterRuleKind::kExpression)
            address = evaluate(rule.expression, machine_, registers_, stack_, cfa);
        return address && stack_.ends_before(*address) ? Step::kCopyEnds : Step::kBroken;
    }

    // In arm64's vDSO: nothing else in there calls functions, or has that system call's number.
    [[nodiscard]] bool returns_from_signal() const {
        constexpr std::uint64_t kRtSigreturn = 139;  // include/uapi/asm-generic/unistd.h
        return !exact_ || (innermost_ && registers_[8] == kRtSigreturn);
    }

    // struct rt_sigframe: siginfo, then a ucontext, in whose sigcontext the registers lie behind the fault's address.
    // Source: arch/arm64/kernel/signal.c, include/uapi/asm/{ucontext,sigcontext}.h.
    Step by_signal_frame(std::uint64_t frame) {
        constexpr std::uint64_t kSiginfo = 128;
        constexpr std::uint64_t kSigcontext = 176;  // in the ucontext
        constexpr unsigned kNumbered = 31;          // x0 to x30; sp and pc follow
        const std::uint64_t saved = frame + kSiginfo + kSigcontext + sizeof(std::uint64_t);
        const auto at = [&](unsigned number) { return saved + number * sizeof(std::uint64_t); };
        const auto interrupted = stack_.read(at(kNumbered + 1));
        if (!interrupted) return stack_.ends_before(at(kNumbered + 1)) ? Step::kCopyEnds : Step::kBroken;
        for (unsigned number = 0; number <= kNumbered; ++number) registers_.set(number, stack_.read(at(number)));
        registers_.pc = plain_address(machine_, *interrupted);
        exact_ = true;
        return Step::kDone;
    }

    // Both machines: the caller's frame pointer lies where the frame pointer points, the return address behind it.
    // `at_zero`: what a frame pointer of zero means.
    Step by_frame_pointer(Step at_zero) {
        const auto frame = registers_[roles_.frame];
        if (!frame) return Step::kBroken;
        if (*frame == 0) return at_zero;
        const auto top = registers_[roles_.stack].value_or(stack_.start());
        if (*frame < top || *frame % sizeof(std::uint64_t) != 0) return Step::kBroken;
        const auto next = stack_.read(*frame);
        const auto return_address = stack_.read(*frame + 8);
        if (!next || !return_address) return stack_.ends_before(*frame + 8) ? Step::kCopyEnds : Step::kBroken;
        // Else the caller uses the register for something else.
        if (*next == 0 || *next > *frame)
            registers_.set(roles_.frame, *next);
        else
            registers_.forget(roles_.frame);
        // On arm64 the pair may lie anywhere in its frame: where the frame ends is not known.
        if (machine_ == UnwindMachine::kX86_64)
            registers_.set(roles_.stack, *frame + 16);
        else
            registers_.forget(roles_.stack);
        registers_.pc = plain_address(machine_, *return_address);
        exact_ = false;
        return Step::kDone;
    }

    UnwindMachine machine_;
    RegisterRoles roles_;
    UnwindRegisters registers_;
    const StackMemory& stack_;
    CodeMap& code_;
    bool exact_ = true;      // pc was sampled or interrupted, it is no return address
    bool innermost_ = true;  // nothing has been called from here
    bool guess_ = false;     // the step just made
    unsigned guessed_ = 0;
};

}  // namespace

Walk walk_stack(UnwindMachine machine, UnwindRegisters registers, const StackMemory& stack, CodeMap& code,
                std::size_t max_frames, std::vector<std::uint64_t>& chain) {
    return Walker(machine, registers, stack, code).run(max_frames, chain);
}

}  // namespace perfvigil::analyzer
