// SPDX-License-Identifier: GPL-2.0-or-later
// The expositions of the last two slices, and which of them a scrape gets.
//
// A slice's numbers are ready a little after its end, sometimes sooner, sometimes later. A scraper that comes just then
// would see one slice more or less at random, which a one-minute rate shows as a tenth. So an exposition is shown
// from a fixed moment after its slice's end on, and should a scraper come just at that moment, the moment moves.
//
//   slice end   ready        shown                    next slice's end
//      |          |            |                            |
//      0        0.1 s        1 s (or 2 s, 3 s)             5 s
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "base/time.hpp"

namespace perfvigil::daemon {

class MetricsShelf {
public:
    // Nothing was served yet.
    static constexpr MonotonicTime kNever = MonotonicTime::min();

    explicit MetricsShelf(Nanoseconds slice_length);

    // Analyst: the text after the slice that ended at `slice_end` in the recording's time, which was `ended` on this
    // host's clock (the same when live). The first text, from before any slice, has kNever for both.
    void put(std::string text, MonotonicTime slice_end, MonotonicTime ended);

    // What a scrape at `now` gets; never null. Any thread.
    [[nodiscard]] std::shared_ptr<const std::string> take(MonotonicTime now);

    // End of the newest slice whose numbers somebody was given: what Metrics::add_slice() wants to know.
    [[nodiscard]] MonotonicTime newest_served() const;

private:
    struct Entry {
        std::shared_ptr<const std::string> text = std::make_shared<const std::string>();
        MonotonicTime slice_end = kNever;
        MonotonicTime ended = kNever;
    };
    static constexpr std::size_t kRemembered = 8;
    static constexpr std::size_t kMoments = 3;

    [[nodiscard]] Nanoseconds moment(std::size_t number) const;
    [[nodiscard]] bool collides(std::size_t number) const;
    void note_scrape(MonotonicTime now);

    const Nanoseconds slice_length_;
    mutable std::mutex mutex_;
    Entry newest_;
    Entry previous_;
    MonotonicTime newest_served_ = kNever;
    std::size_t chosen_ = 0;                         // of the moments from which on an exposition is shown
    std::array<Nanoseconds, kRemembered> phases_{};  // of the last scrapes within their slice, in a ring
    std::size_t scrapes_ = 0;
};

}  // namespace perfvigil::daemon
