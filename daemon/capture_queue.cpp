// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_queue.hpp"

#include <algorithm>

namespace perfvigil::daemon {

double CaptureQueue::cost_of_running() const {
    double sum = 0;
    for (const auto& entry : running_) sum += entry.cost;
    return sum;
}

bool CaptureQueue::has_room(const Entry& entry) const {
    if (running_.size() >= limits_.concurrent) return false;
    return entry.forced || running_.empty() || cost_of_running() + entry.cost <= limits_.budget;
}

CaptureQueue::Answer CaptureQueue::add(const Entry& entry) {
    if (!entry.forced && entry.cost > limits_.budget) return Answer::kTooDear;
    if (waiting_.empty() && has_room(entry)) {
        running_.push_back(entry);
        return Answer::kRuns;
    }
    if (waiting_.size() >= limits_.waiting) return Answer::kFull;
    waiting_.push_back(entry);
    return Answer::kWaits;
}

void CaptureQueue::ended(Id id) {
    std::erase_if(running_, [id](const Entry& entry) { return entry.id == id; });
    std::erase_if(waiting_, [id](const Entry& entry) { return entry.id == id; });
}

std::optional<CaptureQueue::Id> CaptureQueue::next() {
    if (waiting_.empty() || !has_room(waiting_.front())) return std::nullopt;
    running_.push_back(waiting_.front());
    waiting_.pop_front();
    return running_.back().id;
}

std::size_t CaptureQueue::position(Id id) const {
    const auto found = std::ranges::find(waiting_, id, &Entry::id);
    return found == waiting_.end() ? 0 : static_cast<std::size_t>(found - waiting_.begin()) + 1;
}

}  // namespace perfvigil::daemon
