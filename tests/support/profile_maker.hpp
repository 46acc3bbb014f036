// SPDX-License-Identifier: GPL-2.0-or-later
// Profiles written down as folded stacks, so that a test's numbers can be added up by hand. A sample weighs 10 ms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/profile.hpp"
#include "analyzer/profile/tables.hpp"

namespace perfvigil::test {

struct ProfileMakerWho {
    std::string_view comm = "app";
    std::string_view cgroup{};  // "/system.slice/app.service"
};

class ProfileMaker {
public:
    static constexpr std::uint64_t kTick = 10'000'000;
    using Who = ProfileMakerWho;

    explicit ProfileMaker(std::string_view event = "cpu-clock",
                          analyzer::WeightUnit unit = analyzer::WeightUnit::kNanoseconds);

    // Those that follow are of this event, made when it is new.
    ProfileMaker& event(std::string_view name, analyzer::WeightUnit unit);
    // `folded`: outermost first, "main;parse;copy@libc.so.6". A function without a '@' is of /bin/app; '[kernel…' as
    // the Dso makes it the kernel's; the name "[unknown]" stands for one of a stripped file.
    ProfileMaker& add(std::string_view folded, std::uint64_t samples, Who who = {}, std::uint8_t flags = 0);
    ProfileMaker& idle(std::string_view folded, std::uint64_t samples);

    // Leaves the maker empty.
    [[nodiscard]] analyzer::Profile build();

private:
    void count(std::string_view folded, std::uint64_t samples, Who who, std::uint8_t flags, bool idle);

    analyzer::ProfileTables tables_;
    analyzer::Profile profile_;
    std::uint32_t event_ = 0;
};

// The number of a function of the profile; fails the test's look-ups loudly (std::out_of_range) where there is none.
[[nodiscard]] std::uint32_t function_number(const analyzer::Profile& profile, std::string_view name);

}  // namespace perfvigil::test
