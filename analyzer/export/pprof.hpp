// SPDX-License-Identifier: GPL-2.0-or-later
// One event as pprof's gzipped protobuf (proto/profile.proto of github.com/google/pprof). Two values per sample: how
// many there were, and their weight, which is shown by default. Functions have names but no addresses or lines.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

[[nodiscard]] std::string pprof(const Profile& profile, std::uint32_t event, IdleRows idle);

// What the weights of `event` are called, as pprof and OpenTelemetry write it: "cpu" in "nanoseconds".
struct WeightType {
    std::string type;
    std::string unit;
};
[[nodiscard]] WeightType weight_type(const ProfileEvent& event);
// Events between two samples: 0 where a frequency was asked for and the kernel chose.
[[nodiscard]] std::uint64_t sample_period(const ProfileEvent& event);

}  // namespace perfvigil::analyzer
