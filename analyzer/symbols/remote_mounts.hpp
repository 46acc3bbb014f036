// SPDX-License-Identifier: GPL-2.0-or-later
// Which paths lie on file systems whose other end may be slow, gone or curious (network, FUSE), by /proc/PID/mountinfo.
// To ask the file system itself, even for its kind (statfs), is a request to that other end, which may never answer.
#pragma once

#include <string>
#include <string_view>

namespace perfvigil::analyzer {

// "nfs4", "fuse.sshfs", …: the ninth field of mountinfo.
[[nodiscard]] bool is_remote_type(std::string_view type);

// Whether the mount that holds `path` (absolute, links in it are not followed) is such a one. `mountinfo`: of a process
// that sees the path so.
[[nodiscard]] bool lies_on_remote_mount(std::string_view path, std::string_view mountinfo);

}  // namespace perfvigil::analyzer
