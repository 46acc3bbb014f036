// SPDX-License-Identifier: GPL-2.0-or-later
// The seam between slices and unwinding: whole call chains for samples that hold a copy of the user stack instead of
// user callers.
#pragma once

#include <cstdint>
#include <optional>

#include "collector/processes.hpp"
#include "collector/record.hpp"

namespace perfvigil::analyzer {

struct UnwoundChain {
    // The sample's kernel part and the unwound user part, innermost first. Where the user part is broken, an address at
    // which nothing is mapped ends it, as in broken chains of the kernel. Lives until the next call.
    collector::ChainView chain;
    std::uint8_t flags = 0;  // StackFlag: kStackTruncated, kStackGuessed
};

class UserChains {
public:
    virtual ~UserChains() = default;
    // nullopt: the sample holds nothing that could be unwound, or its own chain says more.
    [[nodiscard]] virtual std::optional<UnwoundChain> chain_of(const collector::SampleRecord& sample,
                                                               const collector::Process& process) = 0;
};

}  // namespace perfvigil::analyzer
