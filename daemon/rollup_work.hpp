// SPDX-License-Identifier: GPL-2.0-or-later
// One roll-up on its way: a part is read at each step, the last step makes one profile of them, so that no step takes
// longer than one window's own analysis does. Writes nothing.
#pragma once

#include <string>
#include <vector>

#include "analyzer/profile.hpp"
#include "daemon/store_upkeep.hpp"

namespace perfvigil::daemon {

class RollupWork {
public:
    RollupWork(RollupPlan plan, std::string directory) : plan_(std::move(plan)), directory_(std::move(directory)) {}

    // Reads the next part. False: all were read.
    bool step();

    struct Made {
        WindowInfo info;
        std::vector<std::byte> bytes;
    };
    // After the last step. Windows that cannot be one profile (the clock was set back, so they hold the same time; the
    // host got another name) are left for a roll-up of their own. kNotFound: no part was left to make one of.
    [[nodiscard]] Result<Made> finish(const std::string& id);

    [[nodiscard]] const RollupPlan& plan() const { return plan_; }
    // Ids of parts that cannot be read, and why.
    [[nodiscard]] const std::vector<std::pair<std::string, Error>>& unusable() const { return unusable_; }

private:
    [[nodiscard]] analyzer::Profile merged();

    RollupPlan plan_;
    std::string directory_;
    std::size_t next_ = 0;
    std::vector<std::string> names_;  // of the parts that were read, and then of those that were merged
    std::vector<analyzer::Profile> profiles_;
    std::vector<std::pair<std::string, Error>> unusable_;
};

}  // namespace perfvigil::daemon
