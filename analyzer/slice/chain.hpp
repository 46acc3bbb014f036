// SPDX-License-Identifier: GPL-2.0-or-later
// Frames by number, and one sample's call chain in those numbers: what the resolver makes and slices take in.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/slice.hpp"
#include "analyzer/slice/hash_index.hpp"
#include "collector/processes.hpp"

namespace perfvigil::analyzer {

// Every frame seen, each once. Numbers stay until clear(); generation() tells them apart.
class FrameTable {
public:
    // `dso` may be null for frames without one.
    [[nodiscard]] std::uint32_t number_of(const Frame& frame, const collector::DsoRef& dso);
    [[nodiscard]] const Frame& frame(std::uint32_t number) const { return frames_[number]; }
    // Of a frame that has one.
    [[nodiscard]] const collector::DsoRef& dso_of(std::uint32_t number) const { return dsos_[dso_numbers_[number]]; }
    [[nodiscard]] std::uint32_t dso_number_of(std::uint32_t number) const { return dso_numbers_[number]; }
    // number_of() of this frame will follow: has its place in memory fetched.
    void expect(const Frame& frame) const {
        if (!slots_.empty()) __builtin_prefetch(&slots_[first_place(frame)]);
    }
    [[nodiscard]] std::size_t size() const { return frames_.size(); }
    [[nodiscard]] std::uint32_t generation() const { return generation_; }
    // Where the path of a chain begins. Paths of numbers of different generations are never equal.
    [[nodiscard]] std::uint64_t empty_path() const { return empty_path_; }
    void clear();

private:
    static constexpr std::uint32_t kNone = HashIndex::kNone;
    // The frame beside its number, so that finding one touches one place in memory.
    struct Slot {
        std::uint64_t offset = 0;
        collector::DsoId dso{};
        std::uint32_t number = kNone;
    };
    [[nodiscard]] std::size_t first_place(const Frame& frame) const {
        return mix(mix(hash_seed(), frame.offset), frame.dso.value) & (slots_.size() - 1);
    }
    [[nodiscard]] Slot& slot_of(const Frame& frame);
    [[nodiscard]] std::uint32_t dso_number(const collector::DsoRef& dso);
    void grow();

    std::vector<Slot> slots_;  // a power of two, at most half full
    std::vector<Frame> frames_;
    std::vector<std::uint32_t> dso_numbers_;  // of frames: into dsos_
    std::vector<collector::DsoRef> dsos_;
    HashIndex by_dso_;
    std::uint32_t generation_ = 1;
    std::uint64_t empty_path_ = mix(hash_seed(), 1);
};

struct Chain {
    std::vector<std::uint32_t> frames;  // numbers of a FrameTable, outermost first; at least one
    // Of the frames in their order: 64 bits under a seed of this run, equal means the same path.
    std::uint64_t path = 0;
    std::uint8_t flags = 0;  // StackFlag
    collector::DsoId broken_in{};

    [[nodiscard]] static std::uint64_t longer_path(std::uint64_t path, std::uint32_t frame) { return mix(path, frame); }
};

}  // namespace perfvigil::analyzer
