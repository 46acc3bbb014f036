// SPDX-License-Identifier: GPL-2.0-or-later
// Events as OpenTelemetry's profiles signal: a ProfilesData message of opentelemetry.proto.profiles.v1development as
// opentelemetry-proto 1.10.0 numbers its fields (it renumbered Sample's; the signal is not stable yet). The bytes are
// an ExportProfilesServiceRequest too. Each event is a Profile of its own, its values the weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

[[nodiscard]] std::string otlp(const Profile& profile, const std::vector<std::uint32_t>& events, IdleRows idle);

}  // namespace perfvigil::analyzer
