// SPDX-License-Identifier: GPL-2.0-or-later
// Finds and opens the file behind a Dso, in the order that finds most short-lived ones (measured: /proc/PID/root alone
// 2 %, with the fallbacks and build-ids 100 % of processes of 2 ms):
//
//   /proc/PID/root + path        as the process sees it, while it lives
//   /proc/PID/map_files, exe     deleted or replaced since, while it lives
//   root of another process      of the mount namespaces seen before, then of all there are
//   our own root
//
// and takes only the very file that was mapped: the same build-id, else the same device and inode. Paths are foreign:
// they are resolved inside their root (openat2), only regular files on local file systems are opened, and nothing here
// can write. May still block (a hung mount): the daemon gives it a thread of its own. Single-threaded.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/symbols/file_source.hpp"
#include "analyzer/symbols/mount_roots.hpp"
#include "base/error.hpp"
#include "collector/processes.hpp"

namespace perfvigil::analyzer {

struct OpenerOptions {
    std::string host_root = "/";
    bool remote_file_systems = false;  // network and FUSE mounts too: they can hang, and see that we read
    MountRootsOptions roots;
};

class Opener {
public:
    struct Counters {
        std::uint64_t own_root = 0;  // opened through …
        std::uint64_t map_files = 0;
        std::uint64_t other_root = 0;
        std::uint64_t host_root = 0;
        std::uint64_t mismatched = 0;  // not opened: only other files of that path
        std::uint64_t remote = 0;      // … not touched
        std::uint64_t not_found = 0;
    };

    Opener(OpenerOptions options, const Clock& clock);

    // `pid` maps it or did; 0: none is known (a capture). Errors as of FileSource::file_of.
    [[nodiscard]] Result<OpenedFileRef> open_dso(const collector::Dso& dso, Pid pid);
    // Closes roots that were not used for a while.
    void expire() { roots_.expire(); }

    [[nodiscard]] const Counters& counters() const { return counters_; }

private:
    class Search;
    [[nodiscard]] OpenedFileRef find(Search& search);
    [[nodiscard]] OpenedFileRef find_in_roots(Search& search, const std::vector<MountRoots::RootRef>& roots);

    OpenerOptions options_;
    MountRoots roots_;
    MountRoots::RootRef host_root_;  // once it was needed
    Counters counters_;
};

}  // namespace perfvigil::analyzer
