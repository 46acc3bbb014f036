// SPDX-License-Identifier: GPL-2.0-or-later
// Samples by stretches of time and function, in whatever order they come: the moments of an imported profile. Within a
// bound of memory: where a recording has more stretches than fit, they are made twice as long.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/profile.hpp"
#include "analyzer/slice/hash_index.hpp"

namespace perfvigil::analyzer {

class MomentSums {
public:
    explicit MomentSums(Nanoseconds length) : length_(length) {}

    // `self` is the sampled function, kNone where there is none or the sample is idle.
    static constexpr std::uint32_t kNone = 0xffffffff;
    void add(Nanoseconds time, std::uint32_t event, std::uint32_t self, std::uint64_t samples, std::uint64_t weight);

    [[nodiscard]] bool empty() const { return rows_.empty(); }
    // When the first and the last sample were taken; where there is one.
    [[nodiscard]] Nanoseconds first() const { return first_; }
    [[nodiscard]] Nanoseconds last() const { return last_; }
    [[nodiscard]] Nanoseconds duration() const { return last_ - first_; }
    [[nodiscard]] std::uint64_t steps_back() const { return steps_back_; }  // samples older than the one before them
    [[nodiscard]] std::vector<ProfileMoment> build(std::size_t events) const;

private:
    struct Row {
        std::int64_t stretch = 0;
        std::uint32_t event = 0;
        std::uint32_t function = 0;  // kNone: the event's total
        std::uint64_t samples = 0;
        std::uint64_t weight = 0;
    };
    void count(std::int64_t stretch, std::uint32_t event, std::uint32_t function, std::uint64_t samples,
               std::uint64_t weight);
    void double_length();
    [[nodiscard]] std::vector<Row> sorted_rows() const;

    Nanoseconds length_;
    Nanoseconds origin_{};
    Nanoseconds first_{};
    Nanoseconds last_{};
    Nanoseconds previous_{};
    std::uint64_t steps_back_ = 0;
    std::vector<Row> rows_;
    HashIndex index_;
};

}  // namespace perfvigil::analyzer
