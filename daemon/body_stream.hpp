// SPDX-License-Identifier: GPL-2.0-or-later
// The body of an answer that comes over time, from another thread. The session on the io thread takes what there is,
// and sleeps until it is woken.
#pragma once

#include <functional>
#include <string>

#include "base/time.hpp"

namespace perfvigil::daemon {

class BodyStream {
public:
    virtual ~BodyStream() = default;

    struct Piece {
        std::string bytes{};
        bool last = false;  // nothing comes after it
    };
    // What has come since the last call; empty and not last: nothing yet.
    [[nodiscard]] virtual Piece take() = 0;
    // Called from any thread when take() has something to give; replaces the one before. Empty: nobody listens.
    virtual void on_news(std::function<void()> wake) = 0;
    // take() is called again after this long, whether or not there are news.
    [[nodiscard]] virtual Nanoseconds patience() const { return std::chrono::hours(1); }
    // The caller sends nothing more: it asks for the end, and reads on.
    virtual void caller_finished() = 0;
    // The caller is gone.
    virtual void caller_gone() = 0;
};

}  // namespace perfvigil::daemon
