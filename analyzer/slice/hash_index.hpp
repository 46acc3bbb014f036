// SPDX-License-Identifier: GPL-2.0-or-later
// Finds a position in somebody's vector by the hash of what stands there. clear() keeps the memory, so a table that is
// emptied and refilled with about as much allocates nothing. Knows hashes, not keys: the caller compares.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace perfvigil::analyzer {

// Folds a 64 × 64 bit product. Ordered: mix(mix(s, a), b) != mix(mix(s, b), a).
[[nodiscard]] inline std::uint64_t mix(std::uint64_t state, std::uint64_t value) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(state ^ 0xa0761d6478bd642fU) * (value ^ 0xe7037ed1a0b428dbU);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}
[[nodiscard]] inline std::uint64_t mix_text(std::uint64_t state, std::string_view text) {
    return mix(state, std::hash<std::string_view>{}(text));
}
// A number that strangers cannot guess, different in each run: addresses and names come from outside, and must not be
// able to choose their place in our tables.
[[nodiscard]] std::uint64_t hash_seed();

class HashIndex {
public:
    static constexpr std::uint32_t kNone = 0xffffffffU;

    // The position whose key has this hash and satisfies same(position), else kNone.
    template <class Same>
    [[nodiscard]] std::uint32_t find(std::uint64_t hash, Same&& same) const {
        if (slots_.empty()) return kNone;
        const std::uint32_t tag = tag_of(hash);
        for (std::size_t at = tag & mask();; at = (at + 1) & mask()) {
            const Slot& slot = slots_[at];
            if (slot.position == kNone) return kNone;
            if (slot.tag == tag && same(slot.position)) return slot.position;
        }
    }
    // Only after find() returned kNone.
    void insert(std::uint64_t hash, std::uint32_t position) {
        if ((count_ + 1) * 2 > slots_.size()) grow();
        place({tag_of(hash), position});
        ++count_;
    }
    void clear() {
        if (count_ != 0) std::fill(slots_.begin(), slots_.end(), Slot{});
        count_ = 0;
    }

private:
    struct Slot {
        std::uint32_t tag = 0;
        std::uint32_t position = kNone;
    };
    static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ (hash >> 32U)); }
    [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
    void place(Slot slot) {
        std::size_t at = slot.tag & mask();
        while (slots_[at].position != kNone) at = (at + 1) & mask();
        slots_[at] = slot;
    }
    void grow() {
        std::vector<Slot> old(std::max<std::size_t>(256, slots_.size() * 2));
        old.swap(slots_);
        for (const Slot& slot : old) {
            if (slot.position != kNone) place(slot);
        }
    }

    std::vector<Slot> slots_;  // a power of two, at most half full
    std::size_t count_ = 0;
};

}  // namespace perfvigil::analyzer
