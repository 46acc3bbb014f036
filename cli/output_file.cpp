// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/fd.hpp"

namespace perfvigil::cli {

Result<void> write_output(const std::string& path, std::string_view bytes) {
    const bool standard = path.empty() || path == "-";
    const std::string where = standard ? "standard output" : path;
    UniqueFd file;
    if (!standard) {
        auto opened = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (!opened) return fail(std::move(opened.error()));
        file = std::move(*opened);
    }
    const int fd = standard ? STDOUT_FILENO : file.get();
    (void)std::fflush(stdout);
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail_errno(errno, where);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    // Some file systems tell of a full disk only now.
    if (!standard && ::close(file.release()) != 0) return fail_errno(errno, where);
    return {};
}

}  // namespace perfvigil::cli
