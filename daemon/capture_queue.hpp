// SPDX-License-Identifier: GPL-2.0-or-later
// Which captures on demand run and which wait: at most so many at a time, together within the budget, in the order in
// which they came. A state machine of numbers; knows no threads, no events.
//
//   add ─▶ runs ─▶ ended          room: a place, and budget beside those that run
//     └──▶ waits ─▶ next() ─▶ runs ─▶ ended
//     └──▶ refused (too many wait; too dear alone)
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace perfvigil::daemon {

class CaptureQueue {
public:
    using Id = std::uint64_t;
    struct Limits {
        std::size_t concurrent = 2;
        std::size_t waiting = 8;
        double budget = 0.05;  // share of the host's CPU time, of all that run
    };
    struct Entry {
        Id id = 0;
        double cost = 0;      // predicted share
        bool forced = false;  // runs whatever it costs; what it costs counts against the others
    };
    enum class Answer : std::uint8_t { kRuns, kWaits, kFull, kTooDear };

    explicit CaptureQueue(Limits limits) : limits_(limits) {}

    void set_budget(double budget) { limits_.budget = budget; }
    [[nodiscard]] double budget() const { return limits_.budget; }

    [[nodiscard]] Answer add(const Entry& entry);
    // One that ran or waited is gone.
    void ended(Id id);
    // The one that has waited longest, if there is room for it now: it runs from here on.
    [[nodiscard]] std::optional<Id> next();

    [[nodiscard]] const std::vector<Entry>& running() const { return running_; }
    [[nodiscard]] const std::deque<Entry>& waiting() const { return waiting_; }
    // 1: the next one; 0: does not wait.
    [[nodiscard]] std::size_t position(Id id) const;
    [[nodiscard]] double cost_of_running() const;

private:
    [[nodiscard]] bool has_room(const Entry& entry) const;

    Limits limits_;
    std::vector<Entry> running_;
    std::deque<Entry> waiting_;
};

}  // namespace perfvigil::daemon
