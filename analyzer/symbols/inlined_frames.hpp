// SPDX-License-Identifier: GPL-2.0-or-later
// Which calls a compiler inlined around instructions of one file, and where each function was left, as
// perfvigil-symbols found it (inlined_format.hpp). As for SourceLines the answer is checked whole before a word of it
// is believed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/build_id.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"

namespace perfvigil::analyzer {

// One function at an address. The line is where it is at that address: of the innermost the instruction's, of the
// others where the next inner one was called.
struct InlinedFrame {
    std::string function;  // demangled; empty: unknown
    std::string file;      // as the compiler was given it, escaped; empty: unknown
    std::uint32_t line = 0;

    friend bool operator==(const InlinedFrame&, const InlinedFrame&) = default;
};

class InlinedFrames {
public:
    // `answer`: what follows the `asked` addresses in the memfd.
    [[nodiscard]] static Result<InlinedFrames> from_bytes(Bytes answer, std::vector<LinkAddress> asked);

    // Innermost first; the last one is the function that was compiled. Empty: nothing is known.
    [[nodiscard]] std::vector<InlinedFrame> find(LinkAddress address) const;
    [[nodiscard]] bool has_debug_info() const;
    [[nodiscard]] bool is_split() const;  // some of it lies in .dwo files, which are not read
    // The first of those .dwo files by the names that the compiler gave them, and how many there are.
    [[nodiscard]] const std::vector<std::string>& split_files() const { return split_files_; }
    [[nodiscard]] std::uint32_t split_units() const { return split_units_; }
    [[nodiscard]] bool lacks_alt() const;  // some names lie in the file alt(), which was not given
    [[nodiscard]] const BuildId& alt() const { return alt_; }

private:
    struct Row {
        std::uint32_t function = 0;  // into strings_, plus one
        std::uint32_t file = 0;
        std::uint32_t line = 0;
    };
    bool read_rows(ByteReader& reader, std::size_t addresses, std::size_t frames, std::size_t strings);
    bool read_strings(ByteReader& reader, std::size_t strings, std::uint32_t names_size);
    [[nodiscard]] std::string text(std::uint32_t number) const { return number == 0 ? "" : strings_[number - 1]; }

    std::vector<LinkAddress> addresses_;  // ascending
    std::vector<std::size_t> ends_;       // as addresses_: into rows_
    std::vector<Row> rows_;
    std::vector<std::string> strings_;
    std::vector<std::string> split_files_;
    std::uint32_t split_units_ = 0;
    BuildId alt_;
    std::uint32_t flags_ = 0;
};

}  // namespace perfvigil::analyzer
