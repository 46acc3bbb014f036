// SPDX-License-Identifier: GPL-2.0-or-later
// What a capture cannot say of itself and nobody can find out once its host and files are gone: the names, lines and
// inlined calls of the addresses that were sampled, the meaning of kernel text, and the machine code of the hottest
// functions. Plain tables; strings, symbols and chains are numbered (docs/bundle.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/jit_code.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "base/build_id.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "collector/degraded.hpp"
#include "collector/host_facts.hpp"
#include "collector/processes.hpp"
#include "collector/record.hpp"

namespace perfvigil::analyzer {

// One answer of a Symbolizer.
struct EvidenceSymbol {
    std::uint32_t name = 0;  // strings
    std::uint32_t dso = 0;
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    UnknownReason reason = UnknownReason::kNone;

    friend bool operator==(const EvidenceSymbol&, const EvidenceSymbol&) = default;
};

struct EvidenceFrame {
    std::uint32_t function = 0;  // strings
    std::uint32_t file = 0;
    std::uint32_t line = 0;

    friend bool operator==(const EvidenceFrame&, const EvidenceFrame&) = default;
};
using EvidenceChain = std::vector<EvidenceFrame>;  // innermost first

// One Dso (collector/address_space.hpp) and what is known of its sampled addresses.
struct EvidenceDso {
    collector::DsoKind kind = collector::DsoKind::kFile;
    std::uint32_t path = 0;  // strings
    BuildId build_id;
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint64_t inode = 0;
    std::uint64_t inode_generation = 0;
    Pid pid{};                   // of code without a file; else 0
    std::uint32_t function = 0;  // strings; of code that the kernel made, else ""
    std::uint64_t start = 0;     // the same
    // What the file itself, and the package manager that installed it, said (FileFacts). Strings plus one; 0: nothing.
    BuildId file_build_id{};
    std::uint32_t package = 0;
    std::uint32_t package_version = 0;
    struct Address {
        std::uint64_t offset = 0;
        std::uint32_t symbol = 0;
        std::uint32_t chain = 0;  // plus one; 0: nothing is known

        friend bool operator==(const Address&, const Address&) = default;
    };
    std::vector<Address> addresses;  // strictly ascending by offset

    friend bool operator==(const EvidenceDso&, const EvidenceDso&) = default;
};

// The machine code of one function (FunctionCode).
struct EvidenceCode {
    std::uint32_t dso = 0;    // dsos
    std::uint64_t start = 0;  // in the Dso's terms
    std::uint64_t shift = 0;
    std::uint32_t machine = 0;
    bool big_endian = false;
    bool wide = true;
    std::string code;  // bytes
    bool has_lines = false;
    struct Line {  // from this byte of the function to the next one's
        std::uint64_t offset = 0;
        std::uint32_t file = 0;  // strings
        std::uint32_t line = 0;  // 0: none is known

        friend bool operator==(const Line&, const Line&) = default;
    };
    std::vector<Line> lines;  // strictly ascending by offset
    std::vector<std::string> notes;

    friend bool operator==(const EvidenceCode&, const EvidenceCode&) = default;
};

struct EvidenceText {  // collector::KernelTextRange
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    std::uint32_t text_class = 0;

    friend bool operator==(const EvidenceText&, const EvidenceText&) = default;
};

// What the copy of a sample's stack was unwound to (UnwoundChain).
struct EvidenceUnwound {
    std::uint64_t sample = 0;  // unwound_key
    std::uint32_t stack = 0;   // stacks
    std::uint32_t flags = 0;   // StackFlag

    friend bool operator==(const EvidenceUnwound&, const EvidenceUnwound&) = default;
};
using EvidenceStack = std::vector<std::uint64_t>;  // as a chain holds it: innermost first

struct EvidencePlacement {
    std::uint32_t dso = 0;  // dsos: the marker that announced the dump
    JitCode code;

    friend bool operator==(const EvidencePlacement&, const EvidencePlacement&) = default;
};

struct Evidence {
    std::string program;  // that made it: "perfvigil 0.1.0"
    WallTime made{};
    std::vector<std::string> strings;
    std::vector<EvidenceSymbol> symbols;
    std::vector<EvidenceChain> chains;
    std::vector<EvidenceDso> dsos;
    std::vector<EvidenceText> kernel_text;
    std::vector<std::string> refusals;               // what names had to do without, as reports say it
    std::vector<std::string> line_sentences;         // the same of lines and inlined calls
    std::vector<std::string> module_line_sentences;  // the same in kernel modules, beyond those
    std::vector<std::string> notes;                  // where names came from, as far as that has to be known
    std::vector<collector::Degraded> degraded;
    std::vector<EvidenceStack> stacks;
    std::vector<EvidenceUnwound> unwound;       // strictly ascending by sample
    std::vector<std::string> unwinding;         // sentences: what unwinding had to do without
    std::vector<EvidencePlacement> placements;  // of code that was sampled; of each marker in order of time
    std::vector<EvidenceCode> codes;
    std::uint64_t functions_without_code = 0;  // sampled functions beyond those in `codes`

    friend bool operator==(const Evidence&, const Evidence&) = default;
};

// What tells one Dso of a capture from another, however often it is read.
[[nodiscard]] std::string evidence_key(const collector::Dso& dso);
[[nodiscard]] std::string evidence_key(const Evidence& evidence, const EvidenceDso& dso);
// What tells one sample with a copy of its stack from another: a hash of all that it is unwound from.
[[nodiscard]] std::uint64_t unwound_key(const collector::SampleRecord& sample);

}  // namespace perfvigil::analyzer
