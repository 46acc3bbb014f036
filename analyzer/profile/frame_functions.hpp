// SPDX-License-Identifier: GPL-2.0-or-later
// Which function of a profile each frame of its slices belongs to, by what the Symbolizer calls it. Knows no samples.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/profile/tables.hpp"
#include "analyzer/sampled_codes.hpp"
#include "analyzer/slice.hpp"
#include "analyzer/slice/hash_index.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "collector/processes.hpp"

namespace perfvigil::analyzer {

class FrameFunctions {
public:
    struct Options {
        bool redacts = false;  // paths lose their folders
        bool apart = false;    // functions stay apart by address (SampleSelection::apart)
    };

    // Both outlive it.
    FrameFunctions(Symbolizer& symbolizer, ProfileTables& tables) : symbolizer_(symbolizer), tables_(tables) {}

    void begin_window();
    // The slice outlives what is asked of it.
    void name(const Slice& slice, Options options);

    // By position in the slice's frames.
    [[nodiscard]] std::span<const std::uint32_t> functions() const { return functions_; }
    // The frame's instruction as the line of a source, until it is known which that is: its number among codes(), or
    // none of those where it lies in no Dso.
    [[nodiscard]] std::string code_of(const Frame& frame);
    // With `apart` or code_of: the instructions so far.
    [[nodiscard]] SampledCodes& codes() { return codes_; }

private:
    [[nodiscard]] std::uint32_t function_of(const Frame& frame);
    [[nodiscard]] std::uint32_t function_without_dso(std::uint64_t what);
    [[nodiscard]] std::uint32_t function_at(std::uint32_t function, const collector::DsoRef& dso, std::uint64_t offset);

    Symbolizer& symbolizer_;
    ProfileTables& tables_;
    Options options_;
    SampledCodes codes_;
    // Seen in this window. Names that may still come are asked for again in the next slice.
    struct NamedFrame {
        Frame frame;
        std::uint32_t function = 0;
    };
    std::vector<NamedFrame> named_;
    HashIndex named_index_;
    // Of one slice.
    boost::unordered_flat_map<collector::DsoId, const collector::DsoRef*> dsos_;
    std::vector<std::uint32_t> functions_;
};

}  // namespace perfvigil::analyzer
