// SPDX-License-Identifier: GPL-2.0-or-later
// Where and when a profile's samples were taken, in words: only what the profile knows of it. Texts as recorded, not
// escaped for any page.
#pragma once

#include <string>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

// "host web1, Linux 6.1.0 x86_64, 8 CPUs online, AMD EPYC"; empty where nothing is known.
[[nodiscard]] std::string host_text(const ProfileHost& host);
// "2026-01-31 12:05:00 to 12:06:00 UTC, 60.0 s, recorded by perf 6.1"; where neither time nor length is known it says
// so.
[[nodiscard]] std::string time_text(const Profile& profile);

}  // namespace perfvigil::analyzer
