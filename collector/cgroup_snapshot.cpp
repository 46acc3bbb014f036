// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/cgroup_snapshot.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/text.hpp"

namespace perfvigil::collector {
namespace {

bool lists(std::string_view options, std::string_view option) {
    for (const std::string_view one : split(options, ',')) {
        if (one == option) return true;
    }
    return false;
}

}  // namespace

std::optional<CgroupMount> find_cgroup_mount(std::string_view mountinfo, std::string_view controller) {
    // proc(5): id parent major:minor root mount_point options [optional...] - type source super_options
    std::optional<CgroupMount> unified;
    while (!mountinfo.empty()) {
        const auto line = split(next_piece(mountinfo, '\n'), ' ');
        std::size_t dash = 6;
        while (dash < line.size() && line[dash] != "-") ++dash;
        if (dash + 3 >= line.size()) continue;
        CgroupMount mount{std::string(line[4]), std::string(line[3])};
        if (line[dash + 1] == "cgroup" && lists(line[dash + 3], controller)) return mount;
        if (line[dash + 1] == "cgroup2" && !unified) unified = std::move(mount);
    }
    return unified;
}

std::size_t read_cgroups(const CgroupMount& mount, std::size_t limit,
                         const std::function<void(CgroupId, std::string_view path)>& visit) {
    struct Folder {
        std::string on_disk;
        std::string path;  // in the hierarchy, without a slash at the end
    };
    std::vector<Folder> pending{{mount.mount_point, mount.root == "/" ? "" : mount.root}};
    std::size_t visited = 0;
    while (!pending.empty() && visited < limit) {
        const Folder folder = std::move(pending.back());
        pending.pop_back();
        struct stat status{};
        if (::stat(folder.on_disk.c_str(), &status) != 0) continue;  // removed meanwhile
        visit(CgroupId{status.st_ino}, folder.path.empty() ? "/" : folder.path);
        ++visited;
        std::error_code error;
        for (std::filesystem::directory_iterator entry(folder.on_disk, error), end; !error && entry != end;
             entry.increment(error)) {
            std::error_code ignored;
            if (!entry->is_directory(ignored) || entry->is_symlink(ignored)) continue;
            const std::string name = entry->path().filename().native();
            pending.push_back({folder.on_disk + "/" + name, folder.path + "/" + name});
        }
    }
    return visited;
}

}  // namespace perfvigil::collector
