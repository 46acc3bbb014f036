// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/profile_folds.hpp"

#include <ranges>

namespace perfvigil::test {
namespace {

using namespace analyzer;

Folds fold(const Profile& profile, std::uint32_t event, std::uint64_t ProfileSample::* value) {
    Folds folds;
    for (const auto& sample : profile.samples) {
        if (sample.event != event) continue;
        std::string key = profile.contexts[sample.context].comm;
        for (const auto function : profile.stacks[sample.stack].functions | std::views::reverse) {
            if (!key.empty()) key += ';';
            key += profile.functions[function].name;
        }
        folds[key] += sample.*value;
    }
    return folds;
}

}  // namespace

Folds folds_of(const Profile& profile, std::uint32_t event) { return fold(profile, event, &ProfileSample::weight); }

Folds sample_folds_of(const Profile& profile, std::uint32_t event) {
    return fold(profile, event, &ProfileSample::samples);
}

}  // namespace perfvigil::test
