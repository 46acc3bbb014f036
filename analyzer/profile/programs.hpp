// SPDX-License-Identifier: GPL-2.0-or-later
// Which programs ran in which units and containers, while a profile grows: counted by Dso, described once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "analyzer/profile.hpp"
#include "analyzer/symbols/symbolizer.hpp"
#include "collector/processes.hpp"

namespace perfvigil::analyzer {

// Adds the row's samples to the row that is the same but for them, else the row.
void add_program(std::vector<ProfileProgram>& rows, const ProfileProgram& row);
// Most samples first; no more than kMaxProfilePrograms.
void limit_programs(std::vector<ProfileProgram>& rows);

class UnitPrograms {
public:
    // `samples` of processes in that cgroup that execute `program` (null: unknown, not counted). What is of no unit and
    // no container does not count.
    void add(std::string_view cgroup_path, const collector::DsoRef& program, std::uint64_t samples,
             Symbolizer& symbolizer);
    // From now on programs are shown without their folders.
    void redact_paths() { redacts_ = true; }
    // Empty again.
    [[nodiscard]] std::vector<ProfileProgram> take(Symbolizer& symbolizer);

private:
    struct Row {
        ProfileProgram shown;
        collector::DsoRef program;
    };
    static constexpr std::size_t kMaxRows = 4 * kMaxProfilePrograms;
    static void describe(Row& row, Symbolizer& symbolizer);

    bool redacts_ = false;
    std::vector<Row> rows_;
    boost::unordered_flat_map<std::string, std::size_t> numbers_;  // by cgroup path and Dso
};

}  // namespace perfvigil::analyzer
