// SPDX-License-Identifier: GPL-2.0-or-later
// The entries of .eh_frame and .debug_frame: which ranges of code have instructions for unwinding, and under which
// common terms (CIE). Pure functions of bytes that may lie about everything. Knows no ELF, executes nothing.
// Source: DWARF 5 section 6.4.1; Linux Standard Base 5, "Exception Frames"; glibc and gcc for the augmentations.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"

namespace perfvigil::analyzer {

enum class FrameSectionKind : std::uint8_t {
    kEhFrame,     // loaded: addresses are relative, the CIE is found backwards
    kDebugFrame,  // not loaded: addresses are absolute, the CIE is found by its offset
};

struct FrameSection {
    FrameSectionKind kind = FrameSectionKind::kEhFrame;
    Bytes bytes;
    std::uint64_t address = 0;  // link address of the first byte
};

struct FrameTerms {  // a CIE
    std::uint64_t code_factor = 1;
    std::int64_t data_factor = 1;
    std::uint64_t return_column = 0;
    std::uint8_t pointer_encoding = 0;
    bool has_augmentation_data = false;
    bool signal_frame = false;
    Bytes instructions;
};

struct FrameEntry {           // a FDE
    std::uint64_t start = 0;  // link address
    std::uint64_t end = 0;    // exclusive, above start
    std::uint32_t terms = 0;  // into FrameEntries::terms
    Bytes instructions;
};

struct FrameEntries {
    std::vector<FrameTerms> terms;
    std::vector<FrameEntry> entries;  // as they stand in the section
    bool damaged = false;             // some were not understood
};

// Adds what the section has. Views into its bytes stay in `out`.
void read_frame_entries(const FrameSection& section, FrameEntries& out);

// The link address of .eh_frame by the .eh_frame_hdr that lies at `address`; 0: it does not say.
[[nodiscard]] std::uint64_t eh_frame_address(Bytes header, std::uint64_t address);

}  // namespace perfvigil::analyzer
