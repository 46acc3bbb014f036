// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/rollup_work.hpp"

#include <utility>

#include <fmt/ranges.h>

#include "analyzer/profile/codec.hpp"
#include "analyzer/profile/merge.hpp"
#include "analyzer/profile/parts.hpp"
#include "analyzer/profile/rollup.hpp"
#include "daemon/store_files.hpp"

namespace perfvigil::daemon {

bool RollupWork::step() {
    if (next_ == plan_.parts.size()) return false;
    const auto& id = plan_.parts[next_++]->info.id;
    const auto bytes = read_profile(directory_, id);
    auto profile = bytes ? analyzer::decode_profile(*bytes) : Result<analyzer::Profile>(fail(bytes.error()));
    if (profile) {
        names_.push_back(id);
        profiles_.push_back(std::move(*profile));
    } else {
        unusable_.emplace_back(id, std::move(profile.error()));
    }
    return true;
}

analyzer::Profile RollupWork::merged() {
    auto parts = std::exchange(profiles_, {});
    if (auto all = analyzer::merge_profiles(parts)) return std::move(*all);
    // Seldom: one after the other, without those that do not fit.
    auto names = std::exchange(names_, {names_.front()});
    auto sum = std::move(parts.front());
    for (std::size_t i = 1; i < parts.size(); ++i) {
        auto more = analyzer::merge_profiles({sum, std::move(parts[i])});
        if (!more) continue;
        sum = std::move(*more);
        names_.push_back(std::move(names[i]));
    }
    return sum;
}

Result<RollupWork::Made> RollupWork::finish(const std::string& id) {
    if (profiles_.empty()) return fail(ErrorCode::kNotFound, id + ": nothing to roll up");
    auto profile = merged();
    analyzer::roll_up(profile);
    profile.id = id;
    Made made{.info = {}, .bytes = analyzer::encode_profile(profile)};
    analyzer::append_parts(made.bytes, names_);
    made.info = describe(profile, made.bytes.size());
    made.info.parts = fmt::format("{}", fmt::join(names_, " "));
    return made;
}

}  // namespace perfvigil::daemon
