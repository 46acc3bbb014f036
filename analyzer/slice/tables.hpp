// SPDX-License-Identifier: GPL-2.0-or-later
// Fills the tables of one Slice: finds a stack, an actor or an entry that is there already, or adds it. Holds the slice
// to its byte limit. Knows nothing of time and CPUs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/slice.hpp"
#include "analyzer/slice/chain.hpp"
#include "analyzer/slice/hash_index.hpp"

namespace perfvigil::analyzer {

// Which of a program's samples, where threads or CPUs are told apart.
struct ActorPart {
    std::optional<Tid> tid{};
    std::optional<CpuId> cpu{};
    collector::DsoRef program{};  // what it executed; tells nothing apart
};

class SliceTables {
public:
    // Past three quarters of `max_bytes` a new stack keeps its innermost 8 frames; at the limit all further stacks are
    // one (kFrameCut) and all further actors one, so that nothing that is recorded can make a slice grow without end.
    // `frames` gives the chains' frames their numbers and outlives this.
    SliceTables(FrameTable& frames, std::size_t max_bytes) : numbers_(&frames), max_bytes_(max_bytes) {}

    // Begins anew with an empty slice.
    void start(std::unique_ptr<Slice> slice);
    // The filled slice; start() must follow.
    [[nodiscard]] std::unique_ptr<Slice> finish() {
        settle();
        return std::move(slice_);
    }

    // With everything counted so far in it.
    [[nodiscard]] Slice& slice() {
        settle();
        return *slice_;
    }
    // Different for each slice: positions remembered under another number are void.
    [[nodiscard]] std::uint64_t stamp() const { return stamp_; }

    // Whose sample of which event, with its stack. Takes effect one sample later: in a large table the place of a stack
    // is far from the cache, and is fetched while the next sample is resolved.
    void count(const Chain& chain, std::uint32_t actor, collector::EventIndex event, bool idle, std::uint64_t samples,
               std::uint64_t weight);
    [[nodiscard]] std::uint32_t actor(Pid pid, collector::ProcessEpoch epoch, bool kernel_thread, std::string_view comm,
                                      std::string_view cgroup_path, ActorPart part = {});

private:
    static constexpr std::uint32_t kNone = HashIndex::kNone;

    // A stack as it is found: by the hash of all that makes it.
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t stack = kNone;
        std::uint32_t entry = kNone;  // its first one; as a rule the only one
    };

    struct Pending {
        bool any = false;
        Chain chain;
        std::uint64_t key = 0;
        std::uint32_t actor = 0;
        collector::EventIndex event{};
        bool idle = false;
        std::uint64_t samples = 0;
        std::uint64_t weight = 0;
    };

    void settle() {
        if (pending_.any) count_pending();
    }
    void count_pending();
    [[nodiscard]] std::size_t bytes() const;
    [[nodiscard]] static std::uint64_t key_of(const Chain& chain);
    [[nodiscard]] Slot& slot_of(std::uint64_t key);
    Slot& stack_slot(const Chain& chain, std::uint64_t key);
    Slot& add_stack(const Chain& chain, Slot& slot, std::uint64_t key);
    void shorten(const Chain& chain, std::size_t keep);
    void grow_slots();
    [[nodiscard]] std::uint32_t place_of(std::uint32_t number);
    std::uint32_t add_frame(std::uint32_t number);
    std::uint32_t add_entry(std::uint32_t stack, std::uint32_t actor, collector::EventIndex event, bool idle);

    FrameTable* numbers_;
    std::size_t max_bytes_;
    std::unique_ptr<Slice> slice_;
    std::uint64_t stamp_ = 0;

    // Where a frame of this number stands in slice_->frames, while both marks are current.
    struct Place {
        std::uint32_t mark = 0;
        std::uint32_t position = 0;
    };
    std::vector<Place> places_;  // by number
    std::uint32_t mark_ = 0;
    std::vector<std::uint32_t> dso_marks_;  // by the frames' Dso number: mark_ where the slice has it
    std::uint32_t numbers_generation_ = 0;

    std::vector<Slot> slots_;  // a power of two, at most half full
    std::size_t used_slots_ = 0;
    HashIndex entries_;  // those that are not their stack's first
    HashIndex actors_;
    Chain shortened_;
    Pending pending_;
};

}  // namespace perfvigil::analyzer
