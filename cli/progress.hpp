// SPDX-License-Identifier: GPL-2.0-or-later
// One line that shows a recording as it goes; silent when stderr is no terminal.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.hpp"

namespace perfvigil::cli {

class ProgressLine {
public:
    ProgressLine();
    ~ProgressLine();  // leaves a clean line
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    struct State {
        Nanoseconds elapsed{};
        std::optional<Nanoseconds> of;
        std::uint64_t samples = 0;
        std::uint64_t lost = 0;
        std::uint64_t bytes = 0;
    };
    // At most five times a second.
    void show(const State& state, MonotonicTime now);

private:
    void clear();

    bool terminal_;
    bool drawn_ = false;
    MonotonicTime next_{};
};

}  // namespace perfvigil::cli
