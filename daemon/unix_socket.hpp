// SPDX-License-Identifier: GPL-2.0-or-later
// The control socket: bound with its final permissions from the first moment, so that no stranger ever gets in.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace perfvigil::daemon {

// A listening Unix socket and its name, which goes with it.
class ControlSocket {
public:
    // Replaces a socket that nobody listens on any more; kBusy when somebody does, kInvalid when the path is something
    // else. The folder is created (0755) when only its last part is missing. Changes the process's umask for a moment:
    // call it before there are threads. `group` empty: the process's own.
    [[nodiscard]] static Result<ControlSocket> bind(const std::string& path, std::uint32_t mode,
                                                    const std::string& group);
    ControlSocket(ControlSocket&&) noexcept = default;
    ControlSocket& operator=(ControlSocket&&) = delete;
    ~ControlSocket();

    [[nodiscard]] int fd() const { return fd_.get(); }
    // Gives up the descriptor; the name still goes with this object.
    [[nodiscard]] int release_fd() { return fd_.release(); }

private:
    ControlSocket(UniqueFd fd, std::string path, std::uint64_t inode)
        : fd_(std::move(fd)), path_(std::move(path)), inode_(inode) {}

    UniqueFd fd_;
    std::string path_;  // empty after a move
    std::uint64_t inode_ = 0;
};

}  // namespace perfvigil::daemon
