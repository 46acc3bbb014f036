// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector/cgroup_snapshot.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "tests/support/temp_folder.hpp"

namespace perfvigil::collector {
namespace {

constexpr const char* kUnified = "38 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
constexpr const char* kCpu = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n";
constexpr const char* kPerf = "40 31 0:40 /docker/x /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n";

TEST(CgroupMount, WhereThePerfControllerIs) {
    struct Case {
        std::string mountinfo;
        const char* mount_point;  // nullptr: none
        const char* root;
    };
    const Case cases[] = {
        {kUnified, "/sys/fs/cgroup/unified", "/"},
        {std::string(kCpu) + kUnified, "/sys/fs/cgroup/unified", "/"},
        {std::string(kUnified) + kCpu + kPerf, "/sys/fs/cgroup/perf_event", "/docker/x"},
        {kCpu, nullptr, ""},
        {"", nullptr, ""},
        {"a b c\n- - -\n1 2 3 4 5 6 7 8\n", nullptr, ""},
    };
    for (const Case& c : cases) {
        const auto mount = find_cgroup_mount(c.mountinfo);
        ASSERT_EQ(mount.has_value(), c.mount_point != nullptr) << c.mountinfo;
        if (!mount) continue;
        EXPECT_EQ(mount->mount_point, c.mount_point);
        EXPECT_EQ(mount->root, c.root);
    }
}

TEST(CgroupSnapshot, EveryFolderByItsInode) {
    const test::TempFolder mount;
    mount.write("cgroup.procs", "");
    mount.write("system.slice/cgroup.procs", "");
    mount.write("system.slice/ssh.service/cgroup.procs", "");
    mount.symlink("loop", mount.path().string());
    std::map<std::string, std::uint64_t> seen;
    const auto visit = [&](CgroupId id, std::string_view path) { seen[std::string(path)] = id.value; };
    EXPECT_EQ(read_cgroups({mount.path(), "/"}, 100, visit), 3U);
    ASSERT_EQ(seen.size(), 3U);
    struct stat status{};
    ASSERT_EQ(::stat((mount / "system.slice/ssh.service").c_str(), &status), 0);
    EXPECT_EQ(seen.at("/system.slice/ssh.service"), status.st_ino);
    EXPECT_TRUE(seen.contains("/"));
    EXPECT_TRUE(seen.contains("/system.slice"));
}

TEST(CgroupSnapshot, ContainersAndLimits) {
    const test::TempFolder mount;
    for (int i = 0; i < 10; ++i) mount.write("c" + std::to_string(i) + "/x", "");
    std::vector<std::string> paths;
    const auto visit = [&](CgroupId, std::string_view path) { paths.emplace_back(path); };
    EXPECT_EQ(read_cgroups({mount.path(), "/docker/x"}, 4, visit), 4U);
    ASSERT_EQ(paths.size(), 4U);
    EXPECT_EQ(paths.front(), "/docker/x");
    EXPECT_TRUE(paths.back().starts_with("/docker/x/c"));
    EXPECT_EQ(read_cgroups({"/nonexistent", "/"}, 4, visit), 0U);
}

}  // namespace
}  // namespace perfvigil::collector
