// SPDX-License-Identifier: GPL-2.0-or-later
// The lines that perf's --header puts in front of its texts, "# hostname : build7": what they say of the host and of
// the events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/profile.hpp"

namespace perfvigil::analyzer {

class PerfComments {
public:
    // A line that starts with '#'. What is not known is passed over.
    void take(std::string_view line);

    [[nodiscard]] bool empty() const { return empty_; }
    // Host, rates of the events by name, the command line, and what was lost.
    void add_to(Profile& profile) const;

private:
    struct Event {
        std::string name;
        std::uint64_t rate = 0;
        bool frequency_mode = false;
    };
    void take_event(std::string_view description);

    ProfileHost host_;
    std::string command_line_;
    std::vector<Event> events_;
    std::uint64_t lost_ = 0;
    bool empty_ = true;
};

}  // namespace perfvigil::analyzer
