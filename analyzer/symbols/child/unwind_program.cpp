// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/child/unwind_program.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>

#include "analyzer/symbols/child/unwind_state.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::uint64_t kMostDistance = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kMostRules = 1U << 20;
constexpr std::size_t kLongestExpression = 512;

bool fits(std::int64_t value) {
    return value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
}

// Rules as the table holds them, each once.
class RuleBook {
public:
    RuleBook(UnwindMachine machine, UnwindRows& out) : known_(unwind_registers(machine)), out_(out) {}

    // kNoUnwindRule where the rule cannot be held.
    std::uint32_t number_of(const UnwindState& state, const FrameTerms& terms) {
        key_.clear();
        if (!describe(state, terms)) return kNoUnwindRule;
        const auto known = numbers_.find(key_);
        if (known != numbers_.end()) return known->second;
        if (numbers_.size() >= kMostRules) return kNoUnwindRule;
        const auto number = static_cast<std::uint32_t>(numbers_.size());
        write(state, terms);
        numbers_.emplace(key_, number);
        return number;
    }

private:
    [[nodiscard]] bool is_end(const UnwindState& state, const FrameTerms& terms) const {
        const auto& rule = state.registers[terms.return_column];
        return rule.given && rule.kind == RegisterRuleKind::kUndefined;
    }

    // Everything that tells rules apart, as bytes.
    bool describe(const UnwindState& state, const FrameTerms& terms) {
        if (terms.return_column >= known_) return false;
        put(terms.return_column);
        put(terms.signal_frame ? 1 : 0);
        if (is_end(state, terms)) {
            put(2);  // how the CFA is found does not matter any more
            return true;
        }
        if (state.cfa_is_expression) {
            if (!put(state.cfa_expression)) return false;
        } else {
            if (state.cfa_register >= known_ || !fits(state.cfa_offset)) return false;
            put(state.cfa_register);
            put(static_cast<std::uint64_t>(state.cfa_offset));
        }
        for (unsigned i = 0; i < known_; ++i) {
            const auto& rule = state.registers[i];
            if (!rule.given) continue;
            put((std::uint64_t{i} << 8U) | static_cast<std::uint64_t>(rule.kind));
            const bool in_register = rule.kind == RegisterRuleKind::kRegister;
            if (in_register && static_cast<std::uint64_t>(rule.value) >= known_) return false;
            if (!fits(rule.value)) return false;
            put(static_cast<std::uint64_t>(rule.value));
            if (has_expression(rule.kind) && !put(rule.expression)) return false;
        }
        return true;
    }

    void write(const UnwindState& state, const FrameTerms& terms) {
        const bool end = is_end(state, terms);
        const auto first = static_cast<std::uint32_t>(out_.register_bytes.size() / kUnwindRegisterSize);
        std::uint8_t count = 0;
        ByteWriter registers(out_.register_bytes);
        for (unsigned i = 0; i < known_ && !end; ++i) {
            const auto& rule = state.registers[i];
            if (!rule.given) continue;
            registers.u8(static_cast<std::uint8_t>(i));
            registers.u8(static_cast<std::uint8_t>(rule.kind));
            registers.u16(static_cast<std::uint16_t>(rule.expression.size()));
            if (has_expression(rule.kind))
                registers.u32(keep(rule.expression));
            else
                registers.i32(static_cast<std::int32_t>(rule.value));
            ++count;
        }
        const bool by_expression = state.cfa_is_expression && !end;
        unsigned flags = terms.signal_frame ? unsigned{kUnwindSignal} : 0U;
        if (end) flags |= kUnwindEnd;
        if (by_expression) flags |= kUnwindExpression;
        ByteWriter rule(out_.rule_bytes);
        rule.u8(static_cast<std::uint8_t>(flags));
        rule.u8(by_expression || end ? std::uint8_t{0} : static_cast<std::uint8_t>(state.cfa_register));
        rule.u8(static_cast<std::uint8_t>(terms.return_column));
        rule.u8(count);
        if (by_expression)
            rule.u32(keep(state.cfa_expression));
        else
            rule.i32(end ? 0 : static_cast<std::int32_t>(state.cfa_offset));
        rule.u32(by_expression ? static_cast<std::uint32_t>(state.cfa_expression.size()) : 0);
        rule.u32(first);
    }

    static bool has_expression(RegisterRuleKind kind) {
        return kind == RegisterRuleKind::kExpression || kind == RegisterRuleKind::kValueExpression;
    }
    void put(std::uint64_t value) { key_.append(reinterpret_cast<const char*>(&value), sizeof value); }
    bool put(Bytes expression) {
        put(~std::uint64_t{expression.size()});
        key_.append(reinterpret_cast<const char*>(expression.data()), expression.size());
        return expression.size() <= kLongestExpression;
    }
    std::uint32_t keep(Bytes expression) {
        const auto at = static_cast<std::uint32_t>(out_.expressions.size());
        out_.expressions.insert(out_.expressions.end(), expression.begin(), expression.end());
        return at;
    }

    unsigned known_;
    UnwindRows& out_;
    std::string key_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
};

class Builder {
public:
    Builder(const FrameEntries& entries, UnwindMachine machine, std::size_t max_rows, UnwindRows& out)
        : entries_(entries), machine_(machine), max_rows_(max_rows), out_(out), rules_(machine, out) {
        initial_.resize(entries.terms.size());
    }

    // Entries in ascending order of their code.
    void add(const FrameEntry& entry) {
        const FrameTerms& terms = entries_.terms[entry.terms];
        const std::uint64_t from = std::max(entry.start, covered_);
        if (from >= entry.end) return;
        if (from > covered_ && covered_ > 0) row(covered_, kNoUnwindRule);
        covered_ = entry.end;
        const UnwindState& initial = initial_of(entry.terms);
        UnwindState state = initial;
        UnwindProgram program(terms, machine_, initial, state);
        ByteReader in(entry.instructions);
        std::uint64_t at = entry.start;
        while (at < entry.end) {
            const std::uint64_t distance = program.run(in);
            const std::uint64_t next = distance == 0 || distance > entry.end - at ? entry.end : at + distance;
            const bool sound = program.ok();
            if (!sound) out_.flags |= kUnwindDamaged;
            if (next > from) row(std::max(at, from), sound ? rules_.number_of(state, terms) : kNoUnwindRule);
            at = next;
            if (!sound) break;
        }
    }

    void finish() {
        if (covered_ > 0) row(covered_, kNoUnwindRule);
    }

private:
    const UnwindState& initial_of(std::uint32_t number) {
        auto& known = initial_[number];
        if (!known) {
            known.emplace();
            const UnwindState nothing;
            UnwindProgram program(entries_.terms[number], machine_, nothing, *known);
            ByteReader in(entries_.terms[number].instructions);
            while (program.run(in) != 0) {
            }
            if (!program.ok()) out_.flags |= kUnwindDamaged;
        }
        return *known;
    }

    void row(std::uint64_t address, std::uint32_t rule) {
        if (out_.starts.empty()) out_.base = address;
        const std::uint64_t distance = address - out_.base;
        if (!out_.rules.empty() && out_.rules.back() == rule) return;
        if (distance > kMostDistance || out_.starts.size() >= max_rows_) {
            out_.flags |= kUnwindCut;
            // What follows is not covered by the last row.
            if (!out_.rules.empty()) out_.rules.back() = kNoUnwindRule;
            return;
        }
        const auto start = static_cast<std::uint32_t>(distance);
        if (!out_.starts.empty() && out_.starts.back() == start) {
            out_.rules.back() = rule;
            return;
        }
        out_.starts.push_back(start);
        out_.rules.push_back(rule);
    }

    const FrameEntries& entries_;
    UnwindMachine machine_;
    std::size_t max_rows_;
    UnwindRows& out_;
    RuleBook rules_;
    std::vector<std::optional<UnwindState>> initial_;  // by number of the CIE
    std::uint64_t covered_ = 0;                        // up to here rows are written
};

}  // namespace

UnwindRows unwind_rows(const FrameEntries& entries, UnwindMachine machine, const std::vector<CodeRange>& code,
                       std::size_t max_rows) {
    UnwindRows out;
    if (entries.damaged) out.flags |= kUnwindDamaged;
    std::vector<std::uint32_t> order;
    order.reserve(entries.entries.size());
    for (std::uint32_t i = 0; i < entries.entries.size(); ++i) {
        const FrameEntry& entry = entries.entries[i];
        const auto holds = [&](const CodeRange& range) { return entry.start >= range.start && entry.end <= range.end; };
        if (std::ranges::any_of(code, holds)) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return entries.entries[i].start; });
    Builder builder(entries, machine, max_rows, out);
    for (const std::uint32_t i : order) builder.add(entries.entries[i]);
    builder.finish();
    return out;
}

}  // namespace perfvigil::analyzer
