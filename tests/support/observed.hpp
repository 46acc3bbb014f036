// SPDX-License-Identifier: GPL-2.0-or-later
// Profiles for tests of observations, written as stacks with numbers of samples, and what was observed in them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/observations.hpp"
#include "analyzer/profile.hpp"

namespace perfvigil::test {

struct TestFrame {
    std::string name;
    std::string dso = "[kernel.kallsyms]";
    bool kernel = true;
    analyzer::UnknownReason reason = analyzer::UnknownReason::kNone;
};
[[nodiscard]] inline TestFrame user(std::string name, std::string dso = "/usr/bin/app") {
    return {std::move(name), std::move(dso), false};
}
[[nodiscard]] inline TestFrame in_kernel(std::string name) { return {std::move(name)}; }

class ObservedProfile {
public:
    static constexpr std::uint64_t kTick = 10'101'010;  // 99 Hz

    // One event: cpu-clock at 99 Hz, or cycles at 1000 per sample.
    explicit ObservedProfile(analyzer::WeightUnit unit = analyzer::WeightUnit::kNanoseconds);

    // Frames innermost first.
    ObservedProfile& stack(std::vector<TestFrame> frames, std::uint64_t samples, std::string comm = "app",
                           std::uint8_t flags = 0);
    ObservedProfile& kernel(std::initializer_list<std::string_view> names, std::uint64_t samples,
                            std::string comm = "app");
    ObservedProfile& idle(std::initializer_list<std::string_view> names, std::uint64_t samples);
    // User code of no interest.
    ObservedProfile& rest(std::uint64_t samples) { return stack({user("work"), user("main")}, samples); }
    ObservedProfile& vulnerability(std::string name, std::string state);
    ObservedProfile& config(std::string option, std::string value);
    ObservedProfile& setting(std::string name, std::string value);
    // A CPU that was busy in `busy` of 1000 ticks.
    analyzer::ProfileCpu& cpu(std::uint64_t busy);

    [[nodiscard]] std::vector<analyzer::Observation> all() const { return observe(profile); }
    // The observation of this id; one without an id where there is none.
    [[nodiscard]] analyzer::Observation find(std::string_view id) const;
    [[nodiscard]] bool fires(std::string_view id) const { return !find(id).id.empty(); }

    analyzer::Profile profile;

private:
    void add(std::vector<TestFrame> frames, std::uint64_t samples, std::string comm, std::uint8_t flags, bool idle);
    std::uint32_t function(const TestFrame& frame);
    std::uint64_t weight_of_one_;
};

// The figure's value; NaN where there is none.
[[nodiscard]] double figure(const analyzer::Observation& observation, std::string_view name, std::string_view of = "");

}  // namespace perfvigil::test
