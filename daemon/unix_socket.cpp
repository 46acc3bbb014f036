// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/unix_socket.hpp"

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

namespace perfvigil::daemon {
namespace {

constexpr int kBacklog = 64;

Result<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        return fail(ErrorCode::kInvalid, path + ": too long for a socket (107 bytes)");
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

// Makes the name free, if it belongs to a daemon that is gone.
Result<void> clear_stale(const std::string& path, const sockaddr_un& address) {
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) {
        return errno == ENOENT ? Result<void>{} : Result<void>(fail_errno(errno, path));
    }
    if (!S_ISSOCK(status.st_mode)) {
        return fail(ErrorCode::kInvalid, path + ": exists and is no socket; remove it or set sockets.control");
    }
    const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) return fail_errno(errno, "socket");
    if (::connect(probe.get(), generic(address), sizeof address) == 0 || errno == EAGAIN) {
        return fail(ErrorCode::kBusy, path + ": another perfvigild listens there; stop it or set sockets.control");
    }
    if (errno != ECONNREFUSED) return fail_errno(errno, path);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail_errno(errno, path);
    return {};
}

Result<gid_t> group_id(const std::string& name) {
    std::array<char, 4096> buffer{};
    group entry{};
    group* found = nullptr;
    const int error = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr) return entry.gr_gid;
    if (error != 0 && error != ENOENT) return fail_errno(error, "group " + name);
    return fail(ErrorCode::kNotFound, "sockets.group: there is no group \"" + name + "\"; groupadd --system " + name);
}

Result<void> make_folder(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos || slash == 0) return {};
    const std::string folder = path.substr(0, slash);
    if (::mkdir(folder.c_str(), 0755) != 0) return errno == EEXIST ? Result<void>{} : fail_errno(errno, folder);
    // Those who may use the socket must be able to reach it, whatever the umask.
    if (::chmod(folder.c_str(), 0755) != 0) return fail_errno(errno, folder);
    return {};
}

}  // namespace

Result<ControlSocket> ControlSocket::bind(const std::string& path, std::uint32_t mode, const std::string& group) {
    const auto address = address_of(path);
    if (!address) return fail(address.error());
    std::optional<gid_t> gid;
    if (!group.empty()) {
        const auto id = group_id(group);
        if (!id) return fail(id.error());
        gid = *id;
    }
    if (auto made = make_folder(path); !made) return fail(std::move(made.error()));
    if (auto cleared = clear_stale(path, *address); !cleared) return fail(std::move(cleared.error()));

    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return fail_errno(errno, "socket");
    const mode_t old_mask = ::umask(static_cast<mode_t>(~mode & 0777U));
    const int bound = ::bind(fd.get(), generic(*address), sizeof *address);
    const int bind_error = errno;
    ::umask(old_mask);
    if (bound != 0) return fail_errno(bind_error, path);

    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) return fail_errno(errno, path);
    ControlSocket socket(std::move(fd), path, status.st_ino);
    if (gid && ::lchown(path.c_str(), static_cast<uid_t>(-1), *gid) != 0) {
        return fail_errno(errno, path + ": giving it to group " + group);
    }
    if (::listen(socket.fd(), kBacklog) != 0) return fail_errno(errno, path);
    return socket;
}

ControlSocket::~ControlSocket() {
    // Only the name that is still ours: a successor may have replaced it.
    struct stat status{};
    if (!path_.empty() && ::lstat(path_.c_str(), &status) == 0 && status.st_ino == inode_) ::unlink(path_.c_str());
}

}  // namespace perfvigil::daemon
