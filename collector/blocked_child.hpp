// SPDX-License-Identifier: GPL-2.0-or-later
// The program of `record -- command`: forked first and held before its exec, so that events can be opened on its pid
// and see it from its first instruction. (libperf opens events without enable-on-fork tricks, and an event opened on
// ourselves would see us.)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/ids.hpp"

namespace perfvigil::collector {

class BlockedChild {
public:
    // Forks. The child waits for release(), with default signal mask and the caller's signal dispositions; it ends by
    // itself when the caller dies or this object is destroyed before.
    [[nodiscard]] static Result<BlockedChild> fork(const std::vector<std::string>& command);

    BlockedChild(BlockedChild&& other) noexcept;
    BlockedChild& operator=(BlockedChild&&) = delete;
    // A child that was not released is ended and reaped; one that runs is left alone.
    ~BlockedChild();

    [[nodiscard]] Pid pid() const { return pid_; }
    // Lets it exec. Returns when the program runs; the error says why it could not be executed.
    [[nodiscard]] Result<void> release();
    // Its wait status (wait(2)) once it has ended; does not wait.
    [[nodiscard]] std::optional<int> ended();
    // Waits for its end.
    [[nodiscard]] int wait();
    // Sends it a signal, as long as it lives.
    void signal(int number);

private:
    BlockedChild(Pid pid, std::string program, UniqueFd go, UniqueFd failure)
        : pid_(pid), program_(std::move(program)), go_(std::move(go)), failure_(std::move(failure)) {}

    Pid pid_{};
    std::string program_;
    UniqueFd go_;       // a byte on it lets the child go
    UniqueFd failure_;  // the child's errno, or its end at exec
    std::optional<int> status_;
};

// The exit code a shell would show for a wait status: the program's own, or 128 + signal.
[[nodiscard]] int exit_code_of(int wait_status);

}  // namespace perfvigil::collector
