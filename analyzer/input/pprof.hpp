// SPDX-License-Identifier: GPL-2.0-or-later
// profile.proto of pprof into a Profile (github.com/google/pprof/proto/profile.proto). Each type of value is an event;
// a count right before a measure ("samples/count cpu/nanoseconds") is that event's number of samples. Inlined calls are
// frames of their own.
#pragma once

#include "analyzer/profile.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"

namespace perfvigil::analyzer {

// Unpacked bytes. The input is hostile.
[[nodiscard]] Result<Profile> read_pprof(Bytes bytes);
// Whether it begins like one: fields of the message with the types they have there.
[[nodiscard]] bool looks_like_pprof(Bytes start);

}  // namespace perfvigil::analyzer
