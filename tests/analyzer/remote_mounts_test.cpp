// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/remote_mounts.hpp"

#include <gtest/gtest.h>

#include <string>

namespace perfvigil::analyzer {
namespace {

// As proc(5) shows them; the last one lies on top of the one before.
constexpr const char* kMounts =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "30 22 0:5 / /proc rw - proc proc rw\n"
    "41 22 0:50 / /mnt/share rw,nosuid shared:9 master:2 - nfs4 host:/x rw,vers=4.2\n"
    "42 41 254:1 /sub /mnt/share/local rw - xfs /dev/vdb rw\n"
    "43 22 0:51 / /srv/me/a\\040b\\134c rw - fuse.sshfs me@host: rw\n"
    "44 22 0:52 / /opt rw - fuse x rw\n"
    "45 44 254:2 / /opt rw - btrfs /dev/vdc rw\n";

TEST(RemoteMounts, TheMountThatHoldsAPathDecides) {
    EXPECT_FALSE(lies_on_remote_mount("/usr/bin/web", kMounts));
    EXPECT_TRUE(lies_on_remote_mount("/mnt/share/bin/web", kMounts));
    EXPECT_TRUE(lies_on_remote_mount("/mnt/share", kMounts));
    EXPECT_FALSE(lies_on_remote_mount("/mnt/shared/bin/web", kMounts));
    EXPECT_FALSE(lies_on_remote_mount("/mnt/share/local/bin/web", kMounts));
    EXPECT_TRUE(lies_on_remote_mount("/srv/me/a b\\c/web", kMounts));
    EXPECT_FALSE(lies_on_remote_mount("/srv/me/a", kMounts));
    EXPECT_FALSE(lies_on_remote_mount("/opt/web", kMounts));
    EXPECT_FALSE(lies_on_remote_mount("/anything", ""));
}

TEST(RemoteMounts, LinesThatAreNoneSayNothing) {
    const std::string lines(kMounts);
    for (std::size_t size = 0; size < lines.size(); ++size) {
        EXPECT_FALSE(lies_on_remote_mount("/usr/bin/web", lines.substr(0, size))) << size;
    }
    EXPECT_FALSE(lies_on_remote_mount("/x", "\n\n- nfs\n1 2 3 4 /x rw\n1 2 3 4 \\04 rw - nfs h r\n"));
}

TEST(RemoteMounts, FuseByAnyName) {
    for (const char* type : {"fuse", "fuseblk", "fuse.sshfs", "nfs", "nfs4", "cifs", "9p"}) {
        EXPECT_TRUE(is_remote_type(type)) << type;
    }
    for (const char* type : {"ext4", "fusectl", "overlay", "tmpfs", "nfsd", ""})
        EXPECT_FALSE(is_remote_type(type)) << type;
}

}  // namespace
}  // namespace perfvigil::analyzer
