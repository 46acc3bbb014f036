// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/profile/programs.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyzer/profile/builder.hpp"
#include "analyzer/redaction.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

auto identity(const ProfileProgram& row) {
    return std::tie(row.unit, row.container, row.slice, row.cgroup, row.path, row.build_id, row.package,
                    row.package_version);
}

}  // namespace

void add_program(std::vector<ProfileProgram>& rows, const ProfileProgram& row) {
    const auto same = [&](const ProfileProgram& known) { return identity(known) == identity(row); };
    if (const auto known = std::ranges::find_if(rows, same); known != rows.end())
        known->samples += row.samples;
    else
        rows.push_back(row);
}

void limit_programs(std::vector<ProfileProgram>& rows) {
    std::ranges::sort(rows, [](const auto& a, const auto& b) {
        return a.samples != b.samples ? a.samples > b.samples : identity(a) < identity(b);
    });
    if (rows.size() > kMaxProfilePrograms) rows.resize(kMaxProfilePrograms);
}

void UnitPrograms::add(std::string_view cgroup_path, const collector::DsoRef& program, std::uint64_t samples,
                       Symbolizer& symbolizer) {
    if (program == nullptr || samples == 0 || cgroup_path.empty()) return;
    std::string key(cgroup_path);
    key += '\n' + std::to_string(program->id.value);
    const auto [at, added] = numbers_.try_emplace(std::move(key), rows_.size());
    if (added) {
        if (rows_.size() >= kMaxRows) {
            numbers_.erase(at);
            return;
        }
        auto name = unit_of_cgroup(cgroup_path);
        Row row;
        row.program = program;
        row.shown.unit = std::move(name.unit);
        row.shown.container = std::move(name.container);
        row.shown.slice = std::move(name.slice);
        row.shown.cgroup = std::move(name.cgroup);
        row.shown.path = redacts_ ? redacted_dso(program->path) : std::string_view(program->path);
        // Now, while a process that executes it may live.
        if (!row.shown.unit.empty() || !row.shown.container.empty()) describe(row, symbolizer);
        rows_.push_back(std::move(row));
    }
    rows_[at->second].shown.samples += samples;
}

void UnitPrograms::describe(Row& row, Symbolizer& symbolizer) {
    const auto facts = symbolizer.describe(row.program);
    row.shown.build_id = facts.build_id.hex();
    row.shown.package = facts.package;
    row.shown.package_version = facts.package_version;
}

std::vector<ProfileProgram> UnitPrograms::take(Symbolizer& symbolizer) {
    std::vector<ProfileProgram> all;
    boost::unordered_flat_map<std::string, std::size_t> known;  // many cgroups of one unit are one row
    for (auto& row : std::exchange(rows_, {})) {
        if (row.shown.unit.empty() && row.shown.container.empty()) continue;
        if (row.shown.build_id.empty() || row.shown.package.empty()) describe(row, symbolizer);
        const auto key = row.shown.cgroup + '\n' + row.shown.path + '\n' + row.shown.build_id + '\n' +
                         row.shown.package + '\n' + row.shown.package_version;
        const auto [at, added] = known.try_emplace(key, all.size());
        if (added)
            all.push_back(std::move(row.shown));
        else
            all[at->second].samples += row.shown.samples;
    }
    numbers_.clear();
    limit_programs(all);
    return all;
}

}  // namespace perfvigil::analyzer
