// SPDX-License-Identifier: GPL-2.0-or-later
// The last minutes slice by slice, ready to be sent, and those who wait for the next one. The analyst puts, the io
// thread takes; bounded in slices, bytes and waiters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "daemon/body_stream.hpp"

namespace perfvigil::daemon {

using LiveSlices = std::vector<std::shared_ptr<const std::string>>;

class LiveFeed {
public:
    static constexpr std::size_t kMostSlices = 120;  // ten minutes, where a slice is 5 s
    static constexpr std::size_t kMostBytes = 4U << 20;
    static constexpr std::size_t kMostWaiters = 32;

    // One slice's JSON; slices are numbered from 1 in the order in which they come. The analyst.
    void put(std::string json);

    // The JSON of the slices above `number` that are still kept, oldest first. A number that no slice has yet is one of
    // another run of the daemon: then all that are kept. Any thread.
    [[nodiscard]] LiveSlices after(std::uint64_t number) const;
    [[nodiscard]] LiveSlices newest() const;  // one, or none yet

    // Answers when there is a slice above `number`, or at `deadline` with none: `render` makes the answer of them, on
    // the io thread. nullptr: too many wait already.
    using Render = std::function<std::string(const LiveSlices&)>;
    [[nodiscard]] std::shared_ptr<BodyStream> wait(std::uint64_t number, MonotonicTime deadline, const Clock& clock,
                                                   Render render);

    // Nobody waits any longer; the daemon ends.
    void close();

private:
    class Waiter;
    void forget(const Waiter* waiter);
    [[nodiscard]] bool closed() const;

    mutable std::mutex mutex_;
    std::deque<std::shared_ptr<const std::string>> slices_;
    std::size_t bytes_ = 0;
    std::uint64_t newest_ = 0;
    std::vector<Waiter*> waiters_;
    bool closed_ = false;
};

}  // namespace perfvigil::daemon
