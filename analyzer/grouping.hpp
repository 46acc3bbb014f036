// SPDX-License-Identifier: GPL-2.0-or-later
// One event's samples divided by the keys a reader asked for, one inside the other. A pure function of a Profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

enum class GroupKey : std::uint8_t { kComm, kPid, kTid, kCpu, kDso, kSymbol, kUnit, kSrcline };

[[nodiscard]] std::string_view group_key_name(GroupKey key);  // "comm", "pid", …
// "comm,dso": each key once.
[[nodiscard]] Result<std::vector<GroupKey>> parse_group_keys(std::string_view list);

// Which of `keys` the profile cannot answer, because its samples were not told apart by them.
[[nodiscard]] std::vector<GroupKey> keys_not_kept(const Profile& profile, const std::vector<GroupKey>& keys);

struct Group {
    std::vector<std::string> names;  // by key: "nginx", "4711"; empty: none
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
};
// Every combination of keys that has samples, heaviest first, then by names.
[[nodiscard]] std::vector<Group> group_by(const Profile& profile, std::uint32_t event,
                                          const std::vector<GroupKey>& keys, IdleRows idle);

// The same as a tree: a row for each value of the first key, below it those of the second …
struct GroupRow {
    std::string name;
    std::uint32_t depth = 0;  // which key
    std::uint64_t samples = 0;
    std::uint64_t weight = 0;
};
// Depth first, heavier first.
[[nodiscard]] std::vector<GroupRow> nested(const std::vector<Group>& groups);

}  // namespace perfvigil::analyzer
