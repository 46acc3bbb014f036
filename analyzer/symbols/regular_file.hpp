// SPDX-License-Identifier: GPL-2.0-or-later
// Opening a file whose path somebody else chose, from a process with rights that they do not have.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "analyzer/symbols/file_source.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"

namespace perfvigil::analyzer {

enum class RemoteFiles : std::uint8_t { kRefuse, kAllow };

// Opens `path` as seen from the folder `root` for reading. Symbolic links, absolute ones and ".." included, stay
// inside it, links of /proc are not followed (openat2(2), Linux 5.6). It must be a regular file: a FIFO or device is
// not opened even for a moment. kUnsupported: it lies on a network or FUSE file system, and `remote` refuses those.
[[nodiscard]] Result<OpenedFileRef> open_regular_in(int root, const std::string& path, RemoteFiles remote);
// The same; the file keeps its root.
[[nodiscard]] Result<OpenedFileRef> open_regular_in(std::shared_ptr<const UniqueFd> root, const std::string& path,
                                                    RemoteFiles remote);

// A folder as seen from `root`, found as above; for paths below it (O_PATH).
[[nodiscard]] Result<UniqueFd> open_folder_in(int root, const std::string& path);

// As open_regular_in, for a path that we made ourselves, following every link (/proc/PID/map_files/…, /proc/PID/exe).
[[nodiscard]] Result<OpenedFileRef> open_regular_at(const std::string& path, RemoteFiles remote);

// By the magic number of statfs(2).
[[nodiscard]] bool is_remote_file_system(std::uint32_t magic);

}  // namespace perfvigil::analyzer
