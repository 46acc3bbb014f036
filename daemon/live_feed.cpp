// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/live_feed.hpp"

#include <algorithm>
#include <utility>

namespace perfvigil::daemon {

// One caller who waits. Lives on the io thread; woken by the analyst under the feed's lock.
class LiveFeed::Waiter final : public BodyStream {
public:
    Waiter(LiveFeed& feed, std::uint64_t number, MonotonicTime deadline, const Clock& clock, Render render)
        : feed_(feed), number_(number), deadline_(deadline), clock_(clock), render_(std::move(render)) {}
    ~Waiter() override { feed_.forget(this); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    Piece take() override {
        const auto slices = feed_.after(number_);
        const bool over = feed_.closed() || clock_.monotonic() >= deadline_;
        if (slices.empty() && !over) return {};
        return {render_(slices), true};
    }
    void on_news(std::function<void()> wake) override {
        const std::lock_guard lock(feed_.mutex_);
        wake_ = std::move(wake);
    }
    [[nodiscard]] Nanoseconds patience() const override { return deadline_ - clock_.monotonic(); }
    void caller_finished() override {}
    void caller_gone() override {}

    void wake() const {  // the feed's lock is held
        if (wake_) wake_();
    }

private:
    LiveFeed& feed_;
    std::uint64_t number_;
    MonotonicTime deadline_;
    const Clock& clock_;
    Render render_;
    std::function<void()> wake_;
};

void LiveFeed::put(std::string json) {
    auto slice = std::make_shared<const std::string>(std::move(json));
    const std::lock_guard lock(mutex_);
    bytes_ += slice->size();
    slices_.push_back(std::move(slice));
    ++newest_;
    while (slices_.size() > 1 && (slices_.size() > kMostSlices || bytes_ > kMostBytes)) {
        bytes_ -= slices_.front()->size();
        slices_.pop_front();
    }
    for (const auto* waiter : waiters_) waiter->wake();
}

LiveSlices LiveFeed::after(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t wanted = number > newest_ ? newest_ : newest_ - number;
    const auto count = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(wanted, slices_.size()));
    return {slices_.end() - count, slices_.end()};
}

LiveSlices LiveFeed::newest() const {
    const std::lock_guard lock(mutex_);
    return slices_.empty() ? LiveSlices() : LiveSlices{slices_.back()};
}

std::shared_ptr<BodyStream> LiveFeed::wait(std::uint64_t number, MonotonicTime deadline, const Clock& clock,
                                           Render render) {
    auto waiter = std::make_shared<Waiter>(*this, number, deadline, clock, std::move(render));
    const std::lock_guard lock(mutex_);
    if (waiters_.size() >= kMostWaiters) return nullptr;
    waiters_.push_back(waiter.get());
    return waiter;
}

void LiveFeed::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const auto* waiter : waiters_) waiter->wake();
}

void LiveFeed::forget(const Waiter* waiter) {
    const std::lock_guard lock(mutex_);
    std::erase(waiters_, waiter);
}

bool LiveFeed::closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
}

}  // namespace perfvigil::daemon
