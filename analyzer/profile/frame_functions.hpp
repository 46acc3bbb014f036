// SPDX-License-Identifier: GPL-2.0-or-later
// Which of a growing profile's functions each frame of a slice is. A frame is asked for once, but for names that may
// still come or be replaced: those again with each slice.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/profile/tables.hpp"
#include "analyzer/sampled_codes.hpp"
#include "analyzer/slice.hpp"
#include "analyzer/slice/chain.hpp"
#include "analyzer/symbols/symbolizer.hpp"

namespace perfvigil::analyzer {

class FrameFunctions {
public:
    static constexpr std::uint32_t kNone = HashIndex::kNone;

    // Functions go into `tables`, instructions into `codes` where they are told apart. All outlive this.
    FrameFunctions(Symbolizer& symbolizer, ProfileTables& tables, SampledCodes& codes)
        : symbolizer_(symbolizer), tables_(tables), codes_(codes) {}

    // Functions stay apart by address until it is known what was inlined there (expand_frames).
    void keep_apart() { apart_ = true; }
    // Names and paths as redaction.hpp leaves them.
    void redact() { redacts_ = true; }

    // Looks at the slice; what follows is of it.
    void name(const Slice& slice);
    // By the slice's frames.
    [[nodiscard]] std::uint32_t function(std::uint32_t frame) const { return named_[frame].function; }
    // The tables' number of the Dso, of user code alone; kNone: of the kernel, or it has none.
    [[nodiscard]] std::uint32_t user_dso(std::uint32_t frame) const { return named_[frame].user_dso; }
    // The instruction's number in `codes`; SIZE_MAX where the frame has no Dso.
    [[nodiscard]] std::size_t code(const Frame& frame);

private:
    struct Named {
        std::uint32_t function = kNone;
        std::uint32_t user_dso = kNone;
    };
    [[nodiscard]] const collector::DsoRef* dso_of(const Frame& frame) const;
    [[nodiscard]] Named named(const CodePlace& place, const Symbol& symbol);
    [[nodiscard]] Named without_dso(const Frame& frame);

    Symbolizer& symbolizer_;
    ProfileTables& tables_;
    SampledCodes& codes_;
    bool apart_ = false;
    bool redacts_ = false;

    FrameTable frames_;         // of all slices so far
    std::vector<Named> known_;  // by the frame's number there
    // Of the slice at hand.
    std::vector<Named> named_;
    struct Unknown {
        std::uint32_t frame = 0;
        std::uint32_t number = kNone;  // in frames_; kNone: it has no Dso
    };
    std::vector<Unknown> unknown_;
    std::vector<CodePlace> places_;  // of those with a Dso
    boost::unordered_flat_map<collector::DsoId, const collector::DsoRef*> dsos_;
};

}  // namespace perfvigil::analyzer
