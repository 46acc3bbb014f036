// SPDX-License-Identifier: GPL-2.0-or-later
// Root folders of mount namespaces, as processes in them see them. A process of two milliseconds is gone before its
// file can be opened through its own root; another process of the same container still has that root. A few roots stay
// open, and are closed when unused for a while, for an open root keeps a dead container's file systems alive.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"

namespace perfvigil::analyzer {

struct MountRootsOptions {
    std::string proc = "/proc";
    std::size_t max_open = 32;
    Nanoseconds keep_unused = std::chrono::seconds(60);
    Nanoseconds between_scans = std::chrono::seconds(1);
    std::size_t max_scanned = 4096;  // processes looked at in one scan
};

class MountRoots {
public:
    using RootRef = std::shared_ptr<const UniqueFd>;  // O_PATH of a folder

    MountRoots(MountRootsOptions options, const Clock& clock);

    // The process's own root, while it lives; null otherwise. Kept.
    [[nodiscard]] RootRef of_process(Pid pid);

    // The roots kept, last used first.
    [[nodiscard]] std::vector<RootRef> kept() const;

    // Walks the processes for mount namespaces that are not kept; at most once in a while, and then only `max_open` new
    // ones. What it returns is new.
    [[nodiscard]] std::vector<RootRef> scan();

    // `root` led to a file: it comes first from now on.
    void note_used(const RootRef& root);
    void expire();

private:
    // A chroot inside a namespace is a root of its own.
    struct Identity {
        ino_t mount_namespace = 0;
        dev_t device = 0;
        ino_t inode = 0;
        friend bool operator==(const Identity&, const Identity&) = default;
    };
    struct Kept {
        Identity identity;
        RootRef root;
        MonotonicTime last_used{};
    };
    [[nodiscard]] static std::optional<Identity> identify(const std::string& process);
    [[nodiscard]] std::vector<Kept>::iterator find(const Identity& identity);
    void use(std::vector<Kept>::iterator kept);
    RootRef keep(const Identity& identity, RootRef root);

    MountRootsOptions options_;
    const Clock& clock_;
    std::vector<Kept> kept_;  // last used first
    MonotonicTime next_scan_{};
};

}  // namespace perfvigil::analyzer
