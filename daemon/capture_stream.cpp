// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_stream.hpp"

#include <utility>

namespace perfvigil::daemon {

bool CaptureStream::push(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    if (gone_ || waiting_.size() + bytes.size() > most_) return false;
    waiting_ += bytes;
    if (wake_) wake_();
    return true;
}

void CaptureStream::end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    if (wake_) wake_();
}

BodyStream::Piece CaptureStream::take() {
    const std::lock_guard lock(mutex_);
    return {std::exchange(waiting_, {}), ended_};
}

void CaptureStream::on_news(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
}

void CaptureStream::caller_gone() {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(gone_, true)) return;
        waiting_ = {};
        if (ended_) return;
    }
    tell(Caller::kGone);
}

}  // namespace perfvigil::daemon
