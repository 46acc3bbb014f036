// SPDX-License-Identifier: GPL-2.0-or-later
// Windows as a busy host would have them, one after the other: a few functions that weigh much, thousands of call
// chains that weigh hardly anything, commands that come and go. Everything in a window adds up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::test {

struct WindowMakerOptions {
    std::size_t functions = 1500;
    std::size_t stacks = 4000;
    std::size_t units = 12;
    std::size_t cpus = 2;
    std::size_t moments = 12;  // of a window; each as long as the others
    Nanoseconds window = std::chrono::seconds(60);
    double busy = 0.7;
    double lost = 0.001;
};

class WindowMaker {
public:
    using Options = WindowMakerOptions;
    static constexpr Nanoseconds kPeriod{10101010};

    explicit WindowMaker(std::uint64_t seed, const Options& options = {});

    // The window that ends then.
    [[nodiscard]] analyzer::Profile make(WallTime end);

    // The unit whose main program has this build-id from the next window on; "unit-0.service" …
    void deploy(std::size_t unit, std::string build_id) { build_ids_[unit] = std::move(build_id); }

private:
    void add_moment(analyzer::Profile& profile, WallTime end);
    [[nodiscard]] analyzer::ProfileCpu cpu(std::uint32_t number, std::uint64_t samples, std::uint64_t idle,
                                           std::uint64_t lost) const;

    Options options_;
    std::mt19937_64 random_;
    std::vector<analyzer::ProfileFunction> functions_;
    std::vector<analyzer::ProfileStack> stacks_;
    std::vector<std::string> build_ids_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::uint64_t>
        rows_;  // (stack, context, idle) of a window
    std::uint64_t windows_ = 0;
};

}  // namespace perfvigil::test
