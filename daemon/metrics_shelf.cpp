// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/metrics_shelf.hpp"

#include <algorithm>
#include <utility>

namespace perfvigil::daemon {
namespace {

// The moments are fifths of a slice after its end; a scrape closer than a twenty-fifth to one collides with it.
constexpr int kMomentParts = 5;
constexpr int kMarginParts = 25;

}  // namespace

MetricsShelf::MetricsShelf(Nanoseconds slice_length) : slice_length_(std::max(slice_length, Nanoseconds(1))) {}

void MetricsShelf::put(std::string text, MonotonicTime slice_end, MonotonicTime ended) {
    Entry entry{std::make_shared<const std::string>(std::move(text)), slice_end, ended};
    const std::lock_guard lock(mutex_);
    std::swap(previous_, newest_);
    std::swap(newest_, entry);  // the text that leaves dies after the lock
}

std::shared_ptr<const std::string> MetricsShelf::take(MonotonicTime now) {
    const std::lock_guard lock(mutex_);
    const bool shown = previous_.ended == kNever || now - newest_.ended >= moment(chosen_);
    const Entry& entry = shown ? newest_ : previous_;
    newest_served_ = std::max(newest_served_, entry.slice_end);
    if (newest_.ended != kNever) note_scrape(now);
    return entry.text;
}

MonotonicTime MetricsShelf::newest_served() const {
    const std::lock_guard lock(mutex_);
    return newest_served_;
}

Nanoseconds MetricsShelf::moment(std::size_t number) const {
    return slice_length_ * static_cast<Nanoseconds::rep>(number + 1) / kMomentParts;
}

bool MetricsShelf::collides(std::size_t number) const {
    const auto remembered = std::min(scrapes_, kRemembered);
    return std::any_of(
        phases_.begin(), phases_.begin() + static_cast<std::ptrdiff_t>(remembered),
        [&](Nanoseconds phase) { return std::chrono::abs(phase - moment(number)) < slice_length_ / kMarginParts; });
}

void MetricsShelf::note_scrape(MonotonicTime now) {
    phases_[scrapes_++ % kRemembered] = std::max(Nanoseconds{}, now - newest_.ended) % slice_length_;
    if (!collides(chosen_)) return;
    for (std::size_t number = 0; number < kMoments; ++number) {
        if (!collides(number)) {
            chosen_ = number;
            return;
        }
    }
}

}  // namespace perfvigil::daemon
