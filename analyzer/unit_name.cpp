// SPDX-License-Identifier: GPL-2.0-or-later
// Names of cgroups. systemd: systemd.unit(5), systemd.slice(5). Containers, as their runtimes name them:
//   cgroupfs driver   /docker/<id>   /kubepods/burstable/pod<uid>/<id>   /libpod_parent/libpod-<id>
//   systemd driver    docker-<id>.scope   cri-containerd-<id>.scope   crio-<id>.scope   libpod-<id>.scope
//   containerd        …:cri-containerd:<id>      (slice:prefix:id, where systemd did not make the cgroup)
#include <algorithm>
#include <array>

#include "analyzer/profile/builder.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr std::size_t kIdDigits = 64;
constexpr std::size_t kShortDigits = 12;

bool is_container_id(std::string_view text) {
    return text.size() == kIdDigits &&
           std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string_view without_suffix(std::string_view text, std::string_view suffix) {
    if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
    return text;
}

// The container that one part of the path names; empty where it names none.
std::string_view container_of(std::string_view part) {
    part = without_suffix(part, ".scope");
    // The monitor beside a container is not in it.
    if (part.starts_with("libpod-conmon-") || part.starts_with("crio-conmon-")) return {};
    const auto separator = part.find_last_of("-:");
    const auto id = separator == std::string_view::npos ? part : part.substr(separator + 1);
    return is_container_id(id) ? id.substr(0, kShortDigits) : std::string_view{};
}

bool is_unit(std::string_view part) {
    static constexpr std::array<std::string_view, 5> kSuffixes{".service", ".scope", ".socket", ".mount", ".swap"};
    return std::ranges::any_of(kSuffixes,
                               [&](auto suffix) { return part.size() > suffix.size() && part.ends_with(suffix); });
}

}  // namespace

UnitName unit_of_cgroup(std::string_view cgroup_path) {
    UnitName name;
    // No path begins like that.
    if (cgroup_path == kExcluded) {
        name.unit = kExcluded;
        return name;
    }
    std::string_view slice;
    const std::string_view whole = cgroup_path;
    std::size_t named_to = 0;
    while (!cgroup_path.empty()) {
        std::string_view part = next_piece(cgroup_path, '/');
        const std::size_t read_to = whole.size() - cgroup_path.size() - (cgroup_path.empty() ? 0 : 1);
        if (const auto container = container_of(part); !container.empty()) {
            name.container = container;
            named_to = read_to;
        }
        // systemd puts '_' before names that the kernel could take for one of its files (cg_escape).
        if (part.starts_with('_')) part.remove_prefix(1);
        if (is_unit(part)) {
            name.unit = part;
            named_to = read_to;
        } else if (part.ends_with(".slice") && part.size() > 6 && part.front() != '-') {
            slice = part;
            named_to = read_to;
        }
    }
    name.slice = slice;
    name.cgroup = whole.substr(0, named_to);
    if (name.unit.empty()) name.unit = slice;
    return name;
}

}  // namespace perfvigil::analyzer
