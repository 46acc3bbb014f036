// SPDX-License-Identifier: GPL-2.0-or-later
// What a capture tells its caller, between the capture's thread, which says it, and the io thread, which sends it.
// Holds a bounded number of bytes: a caller that takes them more slowly than they come ends its capture.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "daemon/body_stream.hpp"

namespace perfvigil::daemon {

class CaptureStream final : public BodyStream {
public:
    enum class Caller : std::uint8_t { kListens, kFinished, kGone };

    // `on_caller`: called on the io thread when the caller wants the end, or is gone.
    CaptureStream(std::size_t most_bytes, std::function<void(Caller)> on_caller)
        : most_(most_bytes), on_caller_(std::move(on_caller)) {}

    // The capture's thread. False: the caller is gone or too slow, the bytes are dropped.
    bool push(std::string_view bytes);
    // Nothing comes after it.
    void end();

    // The io thread.
    [[nodiscard]] Piece take() override;
    void on_news(std::function<void()> wake) override;
    void caller_finished() override { tell(Caller::kFinished); }
    void caller_gone() override;

private:
    void tell(Caller caller) {
        if (on_caller_) on_caller_(caller);
    }

    std::size_t most_;
    std::function<void(Caller)> on_caller_;
    std::mutex mutex_;
    std::string waiting_;
    std::function<void()> wake_;
    bool ended_ = false;
    bool gone_ = false;
};

}  // namespace perfvigil::daemon
