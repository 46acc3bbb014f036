// SPDX-License-Identifier: GPL-2.0-or-later
// How each call chain ends at its outer end. A chain that lacks callers must not be taken for a whole one: its
// outermost function is no root, and two chains that were cut at different depths have different roots for one path.
//
//   rooted      it reaches a function that is known to stand at the outer end of a stack (chain_roots.hpp)
//   broken      it left the mappings: the next caller was no code
//   truncated   it is as deep as the recorder allowed
//   shortened   we cut it, to stay within memory
//   rootless    none of these: it ends in some function, and nothing says why
//
// Derived from a profile's names and stack flags. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

enum class ChainEnd : std::uint8_t { kRooted, kBroken, kTruncated, kShortened, kRootless };
inline constexpr std::size_t kChainEnds = 5;
[[nodiscard]] constexpr std::size_t index_of(ChainEnd end) { return static_cast<std::size_t>(end); }
[[nodiscard]] std::string_view chain_end_name(ChainEnd end);  // "rooted", "broken" …

// Judges the stacks of one profile, which outlives it and does not change.
class ChainEnds {
public:
    explicit ChainEnds(const Profile& profile) : profile_(profile), known_(profile.functions.size()) {}
    [[nodiscard]] ChainEnd of(const ProfileStack& stack);

private:
    enum class Known : std::uint8_t { kUnasked, kRoot, kNoRoot };
    [[nodiscard]] bool is_root(std::uint32_t function);

    const Profile& profile_;
    std::vector<Known> known_;  // by function: few stand at outer ends
};

// Of the samples whose chains pass through a binary, those whose chains end in it in each way but at a root.
struct ChainEndCounts {
    std::string_view dso;  // of the profile
    std::uint64_t samples = 0;
    std::uint64_t ends[kChainEnds] = {};

    [[nodiscard]] std::uint64_t unrooted() const;
};
// By binary, most unrooted first; those without any are left out. Idle samples are not counted. Empty where the event
// has no call chains.
[[nodiscard]] std::vector<ChainEndCounts> chain_end_counts(const Profile& profile, std::uint32_t event);

// The event whose chains a report speaks of: a clock that has some, else any that has.
[[nodiscard]] std::optional<std::uint32_t> event_with_chains(const Profile& profile);

// Which ends are to be shown as a caller of their own.
enum class MarkedEnds : std::uint8_t {
    kMissing,   // broken, truncated, shortened: callers are known to be missing
    kUnrooted,  // rootless ones too
};
// The profile with "[broken]", "[truncated]", "[shortened]" or "[rootless]" as the outermost caller of such stacks, so
// that no tree merges them with whole ones. Functions keep their numbers. Stacks without any caller stay as they are.
[[nodiscard]] Profile with_marked_ends(Profile profile, MarkedEnds marked);
[[nodiscard]] bool is_chain_end_mark(std::string_view name);

}  // namespace perfvigil::analyzer
