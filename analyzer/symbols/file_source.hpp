// SPDX-License-Identifier: GPL-2.0-or-later
// Where the symbol side gets the files of Dsos from. Two sources exist: FileOpener, in the caller's own thread, and the
// daemon's opener thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "base/build_id.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "base/time.hpp"
#include "collector/processes.hpp"

namespace perfvigil::analyzer {

// A regular file opened for reading, and what it was at that moment.
struct OpenedFile {
    UniqueFd fd;
    BuildId build_id;  // read from the file itself; empty: it has none, or is not ELF
    dev_t device = 0;
    bool device_is_nominal = false;  // btrfs, overlayfs: mappings show another device for the same file
    ino_t inode = 0;
    std::uint64_t size = 0;
    WallTime modified{};
    std::shared_ptr<const UniqueFd> root{};  // the folder below which its path was found; null: found by no path
};
using OpenedFileRef = std::shared_ptr<const OpenedFile>;

class FileSource {
public:
    virtual ~FileSource() = default;

    // The file of a kFile Dso: by its build-id where it has one, else by device and inode.
    //   kInvalid      there is a file of that path, but it is another one
    //   kBusy         not known yet, ask again later
    //   kUnsupported  it lies on a file system that is not touched (network, FUSE)
    //   anything else it cannot be opened
    [[nodiscard]] virtual Result<OpenedFileRef> file_of(const collector::Dso& dso) = 0;

    // Does `work` where files are opened, for it may hang as an open may (a dead mount). kBusy: not done within the
    // limit; it goes on by itself, so what it holds must be its own.
    [[nodiscard]] virtual Result<void> run(std::function<void()> work) = 0;

    // The Dso's file is not needed any more (its symbols are read): an open file keeps its file system busy.
    virtual void release(const collector::Dso& dso) = 0;
};

}  // namespace perfvigil::analyzer
