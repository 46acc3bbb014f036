// SPDX-License-Identifier: GPL-2.0-or-later
// One function, instruction by instruction and line by line, with the samples that were taken there. Pure functions:
// the machine code and the source lines are found by who asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/address_counts.hpp"
#include "analyzer/symbols/source_lines.hpp"

namespace perfvigil::analyzer {

struct Instruction {
    std::uint64_t address = 0;
    std::uint32_t size = 0;  // bytes
    std::string text;        // "mov rax, qword ptr [rdi]"; bytes that are no instruction: ".byte 0x06"
};

struct AnnotatedInstruction {
    std::uint64_t address = 0;  // link address; of kernel code the running kernel's
    std::uint32_t size = 0;     // bytes; 0: not known
    std::string text{};         // empty where the machine code is not known
    std::optional<SourceLine> line{};
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
};

struct AnnotatedLine {
    SourceLine line;
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
};

struct Annotation {
    std::string event;
    std::string function;
    std::string dso;
    std::uint64_t samples = 0;  // in the function
    std::uint64_t weight = 0;
    std::vector<AnnotatedInstruction> instructions;  // all of them by address, or the sampled ones alone
    std::vector<AnnotatedLine> lines;                // most weight first
    std::vector<std::string> notes;                  // sentences: what is missing and why
};

// `code` of the whole function, empty where it is not known; addresses of `instructions` and `lines` are those of the
// function's addresses moved by `shift`. A sample inside an instruction counts for it.
[[nodiscard]] Annotation annotate(const CountedFunction& function, const std::string& event,
                                  const std::vector<Instruction>& code, const SourceLines* lines, std::uint64_t shift);

struct AnnotationOptions {
    std::size_t width = 120;  // columns; 0: lines are not cut
    std::size_t context = 8;  // instructions without samples that are shown around one with samples
    std::size_t lines = 20;   // rows of the table of source lines; 0: all
};
[[nodiscard]] std::string annotation_text(const Annotation& annotation, const AnnotationOptions& options);
[[nodiscard]] std::string annotation_json(const std::vector<Annotation>& annotations);

}  // namespace perfvigil::analyzer
