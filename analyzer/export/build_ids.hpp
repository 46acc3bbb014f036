// SPDX-License-Identifier: GPL-2.0-or-later
// The build-ids of a profile's binaries, by name.
#pragma once

#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// Views into the profile.
using BuildIds = boost::unordered_flat_map<std::string_view, std::string_view>;
[[nodiscard]] inline BuildIds build_ids_of(const Profile& profile) {
    BuildIds ids;
    for (const auto& dso : profile.dsos) ids.emplace(dso.name, dso.build_id);
    return ids;
}

}  // namespace perfvigil::analyzer
