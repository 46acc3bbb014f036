// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/unwind/stack_unwinder.hpp"

#include <array>

#include "analyzer/slice.hpp"

namespace perfvigil::analyzer {

using collector::DsoKind;
using collector::RegistersView;
using collector::SampleRecord;

namespace {

constexpr std::uint64_t kAbi64 = 2;
// Nothing is ever mapped there (vm.mmap_min_addr).
constexpr std::uint64_t kNowhere = 1;

// perf's number of each DWARF register. Source: arch/x86/include/uapi/asm/perf_regs.h and the x86-64 ABI, figure 3.36.
constexpr std::array<unsigned, 16> kX86Registers{0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23};
constexpr unsigned kX86Ip = 8;
// arm64: the same numbers, up to sp.
constexpr unsigned kArm64Registers = 32;
constexpr unsigned kArm64Pc = 32;

std::optional<UnwindRegisters> registers_of(UnwindMachine machine, const RegistersView& view) {
    std::array<std::optional<std::uint64_t>, kArm64Pc + 1> recorded;
    ByteReader in(view.values, view.endian);
    for (unsigned number = 0; number < recorded.size(); ++number) {
        if (((view.mask >> number) & 1U) != 0) recorded[number] = in.u64();
    }
    const bool x86 = machine == UnwindMachine::kX86_64;
    const auto pc = recorded[x86 ? kX86Ip : kArm64Pc];
    if (!pc || !in.ok()) return std::nullopt;
    UnwindRegisters out;
    out.pc = plain_address(machine, *pc);
    if (x86) {
        for (unsigned i = 0; i < kX86Registers.size(); ++i) out.set(i, recorded[kX86Registers[i]]);
    } else {
        for (unsigned i = 0; i < kArm64Registers; ++i) out.set(i, recorded[i]);
    }
    if (!out.known(roles_of(machine).stack)) return std::nullopt;
    return out;
}

class ProcessCode final : public CodeMap {
public:
    ProcessCode(UnwindSource& source, const collector::Process& process, UnwindMachine machine)
        : source_(source), process_(process), machine_(machine) {}

    CodeAt code_at(std::uint64_t address) override {
        using Kind = CodeAt::Kind;
        const auto* mapping = process_.maps.find(address);
        if (mapping == nullptr) return {};
        switch (mapping->dso->kind) {
            case DsoKind::kAnonymous: return {.kind = Kind::kJit};
            case DsoKind::kFile:
            case DsoKind::kVdso: break;
            case DsoKind::kKernel:
            case DsoKind::kKernelCode:
            case DsoKind::kVsyscall:
            case DsoKind::kUprobes: return {.kind = Kind::kNoRule};
        }
        const UnwindRule* rule = source_.rule_at(mapping->dso, mapping->offset_of(address), machine_);
        if (rule != nullptr) return {.kind = Kind::kTable, .rule = rule};
        return {.kind = mapping->dso->kind == DsoKind::kVdso ? Kind::kVdso : Kind::kNoRule};
    }
    void guessed(std::uint64_t address) override {
        if (const auto* mapping = process_.maps.find(address)) source_.guessed(mapping->dso);
    }
    void stopped(std::uint64_t address) override {
        if (const auto* mapping = process_.maps.find(address)) source_.stopped(mapping->dso);
    }

private:
    UnwindSource& source_;
    const collector::Process& process_;
    UnwindMachine machine_;
};

// Copies the chain's part that is no user code, with its markers. How many user addresses there are besides: where a
// recorder unwound stacks itself, or had the kernel follow frame pointers as well.
std::size_t split_chain(const SampleRecord& sample, std::vector<std::uint64_t>& words) {
    bool user = sample.cpumode() == collector::kMiscUser;  // up to the first marker
    std::size_t user_addresses = 0;
    for (std::size_t i = 0; i < sample.chain.size(); ++i) {
        const std::uint64_t word = sample.chain[i];
        const bool marker = word >= collector::kContextMax;
        if (marker) user = word == collector::kContextUser;
        if (!user)
            words.push_back(word);
        else if (!marker)
            ++user_addresses;
    }
    return user_addresses;
}

}  // namespace

UnwindMachine unwind_machine(const std::string& architecture) {
    if (architecture == "x86_64") return UnwindMachine::kX86_64;
    if (architecture == "aarch64") return UnwindMachine::kArm64;
    return UnwindMachine::kOther;
}

UnwindMachine StackUnwinder::machine_of(const RegistersView& registers) const {
    if (machine_) return *machine_;
    // x86 has no register 32 to record of user code, arm64's is the pc.
    return ((registers.mask >> kArm64Pc) & 1U) != 0 ? UnwindMachine::kArm64 : UnwindMachine::kX86_64;
}

std::optional<UnwoundChain> StackUnwinder::chain_of(const SampleRecord& sample, const collector::Process& process) {
    const RegistersView& view = sample.user_registers;
    if (view.abi == 0) return std::nullopt;  // a kernel thread, or registers were not asked for
    const UnwindMachine machine = machine_of(view);
    const bool readable = view.abi == kAbi64 && view.endian == Endian::kNative && machine != UnwindMachine::kOther;
    const auto registers = readable ? registers_of(machine, view) : std::nullopt;
    if (!registers) {
        ++counters_.unsupported;
        return std::nullopt;
    }
    source_.next_sample();
    words_.clear();
    const std::size_t recorded = split_chain(sample, words_);
    words_.push_back(collector::kContextUser);
    const StackMemory stack(*(*registers)[roles_of(machine).stack], sample.user_stack.bytes());
    ProcessCode code(source_, process, machine);
    const Walk walk = walk_stack(machine, *registers, stack, code, kMostFrames, words_);
    count(walk);
    // Callers that are in the sample give way to a whole chain alone.
    if (recorded > 1 && (walk.end != WalkEnd::kOutermost || walk.guessed > 0)) return std::nullopt;

    UnwoundChain out;
    if (walk.end == WalkEnd::kBroken) words_.push_back(kNowhere);
    if (walk.end == WalkEnd::kCopyEnds || walk.end == WalkEnd::kTooDeep) out.flags |= kStackTruncated;
    if (walk.guessed > 0 || walk.end == WalkEnd::kNoRule) out.flags |= kStackGuessed;
    out.chain = collector::ChainView(std::as_bytes(std::span(words_)), Endian::kNative);
    return out;
}

void StackUnwinder::count(const Walk& walk) {
    ++counters_.samples;
    counters_.guessed += walk.guessed > 0 ? 1 : 0;
    switch (walk.end) {
        case WalkEnd::kOutermost: ++counters_.outermost; break;
        case WalkEnd::kBroken: ++counters_.broken; break;
        case WalkEnd::kNoRule: ++counters_.no_rule; break;
        case WalkEnd::kCopyEnds: ++counters_.copy_ends; break;
        case WalkEnd::kTooDeep: ++counters_.too_deep; break;
    }
}

}  // namespace perfvigil::analyzer
