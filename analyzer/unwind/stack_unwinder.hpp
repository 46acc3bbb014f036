// SPDX-License-Identifier: GPL-2.0-or-later
// Unwinds samples: joins the walker with the process's mappings as of the sample and with the tables of its files.
// Only 64-bit samples of this machine's byte order; of others nothing is unwound, and that is counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/unwind/stack_walker.hpp"
#include "analyzer/unwind/user_chains.hpp"

namespace perfvigil::analyzer {

// Where tables come from.
class UnwindSource {
public:
    virtual ~UnwindSource() = default;
    // The rule at that offset of a kFile or kVdso Dso, of tables for `machine`; nullptr: none. Lives until the next
    // sample.
    [[nodiscard]] virtual const UnwindRule* rule_at(const collector::DsoRef& dso, std::uint64_t offset,
                                                    UnwindMachine machine) = 0;
    // For want of a rule a step out of that Dso was made by frame pointer, or the chain ends in it.
    virtual void guessed(const collector::DsoRef& dso) = 0;
    virtual void stopped(const collector::DsoRef& dso) = 0;
    virtual void next_sample() {}
};

// By uname -m; kOther: not one whose stacks can be unwound. Empty: not known.
[[nodiscard]] UnwindMachine unwind_machine(const std::string& architecture);

struct UnwindCounters {
    std::uint64_t samples = 0;  // unwound
    std::uint64_t outermost = 0;
    std::uint64_t broken = 0;
    std::uint64_t no_rule = 0;
    std::uint64_t copy_ends = 0;
    std::uint64_t too_deep = 0;
    std::uint64_t guessed = 0;      // with at least one guessed step
    std::uint64_t unsupported = 0;  // 32-bit tasks, the other byte order, other machines
};

class StackUnwinder final : public UserChains {
public:
    static constexpr std::size_t kMostFrames = 1024;

    // `machine`: of the recording host; absent: told from the registers of each sample.
    StackUnwinder(UnwindSource& source, std::optional<UnwindMachine> machine) : source_(source), machine_(machine) {}

    [[nodiscard]] std::optional<UnwoundChain> chain_of(const collector::SampleRecord& sample,
                                                       const collector::Process& process) override;
    [[nodiscard]] const UnwindCounters& counters() const { return counters_; }

private:
    [[nodiscard]] UnwindMachine machine_of(const collector::RegistersView& registers) const;
    void count(const Walk& walk);

    UnwindSource& source_;
    std::optional<UnwindMachine> machine_;
    UnwindCounters counters_;
    std::vector<std::uint64_t> words_;
};

}  // namespace perfvigil::analyzer
