// SPDX-License-Identifier: GPL-2.0-or-later
// One event's stacks as collapsed lines, "thread;outermost;…;innermost WEIGHT", each stack once, for flamegraph.pl,
// inferno, speedscope and whatever else reads them.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

struct FoldedOptions {
    enum class Value : std::uint8_t {
        kWeight,   // nanoseconds, cycles: what shares are computed of
        kSamples,  // how many samples
    };
    IdleRows idle = IdleRows::kExclude;
    Value value = Value::kWeight;
    bool mark_kernel = false;  // "_[k]" behind the names of the kernel's functions
};

// Names are made safe as by escape(), and a semicolon inside one becomes \x3b: so each line is what its parts are.
// Stacks of value 0 have no line. The heaviest come first.
[[nodiscard]] std::string folded(const Profile& profile, std::uint32_t event, const FoldedOptions& options);

}  // namespace perfvigil::analyzer
