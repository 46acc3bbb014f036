// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/regular_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "analyzer/symbols/elf_head.hpp"

namespace perfvigil::analyzer {
namespace {

Result<UniqueFd> open_path_in(int root, const std::string& path, int flags = 0) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(O_PATH | O_CLOEXEC | flags);
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    long fd = -1;
    // EAGAIN: something was renamed during the walk, and the kernel could not be sure that ".." stayed inside.
    for (int attempt = 0; attempt < 8; ++attempt) {
        fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof(how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
    }
    if (fd < 0) return fail_errno(errno, path);
    return UniqueFd(static_cast<int>(fd));
}

// From a mere name of a file (O_PATH) to an open one, when it is one that may be opened.
Result<OpenedFile> open_named(const UniqueFd& name, const std::string& path, RemoteFiles remote) {
    struct stat st{};
    struct statfs fs{};
    if (::fstat(name.get(), &st) != 0 || ::fstatfs(name.get(), &fs) != 0) return fail_errno(errno, path);
    if (!S_ISREG(st.st_mode)) return fail(ErrorCode::kNotFound, path + ": not a regular file");
    const auto magic = static_cast<std::uint32_t>(fs.f_type);
    if (remote == RemoteFiles::kRefuse && is_remote_file_system(magic)) {
        return fail(ErrorCode::kUnsupported, path + ": on a network or FUSE file system, which is not touched");
    }
    // O_NONBLOCK: a lease held by somebody is an error, not a wait.
    auto fd = open_file("/proc/self/fd/" + std::to_string(name.get()), O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd) return fail(errno_error(fd.error().error_number, path));
    OpenedFile file;
    file.fd = std::move(*fd);
    file.device = st.st_dev;
    file.device_is_nominal = magic == OVERLAYFS_SUPER_MAGIC || magic == BTRFS_SUPER_MAGIC;
    file.inode = st.st_ino;
    file.size = static_cast<std::uint64_t>(std::max<off_t>(st.st_size, 0));
    file.modified = WallTime(std::chrono::seconds(st.st_mtim.tv_sec) + Nanoseconds(st.st_mtim.tv_nsec));
    if (auto head = read_elf_head(file.fd.get())) file.build_id = head->build_id;
    return file;
}

Result<OpenedFileRef> shared(Result<OpenedFile> file) {
    if (!file) return fail(std::move(file.error()));
    return std::make_shared<const OpenedFile>(std::move(*file));
}

}  // namespace

// File systems whose other end may be slow, gone or curious. Magic numbers that linux/magic.h lacks are from the
// file systems' own sources.
bool is_remote_file_system(std::uint32_t magic) {
    constexpr std::array<std::uint32_t, 14> kRemote{
        NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC, FUSE_SUPER_MAGIC,   CEPH_SUPER_MAGIC,
        AFS_SUPER_MAGIC, AFS_FS_MAGIC,    V9FS_MAGIC,       CODA_SUPER_MAGIC, AUTOFS_SUPER_MAGIC,
        0x01161970,   // gfs2
        0x0bd00bd0,   // lustre
        0x786f4256};  // vboxsf
    return std::ranges::find(kRemote, magic) != kRemote.end();
}

Result<OpenedFileRef> open_regular_in(int root, const std::string& path, RemoteFiles remote) {
    auto name = open_path_in(root, path);
    if (!name) return fail(std::move(name.error()));
    return shared(open_named(*name, path, remote));
}

Result<OpenedFileRef> open_regular_in(std::shared_ptr<const UniqueFd> root, const std::string& path,
                                      RemoteFiles remote) {
    auto name = open_path_in(root->get(), path);
    if (!name) return fail(std::move(name.error()));
    auto file = open_named(*name, path, remote);
    if (file) file->root = std::move(root);
    return shared(std::move(file));
}

Result<UniqueFd> open_folder_in(int root, const std::string& path) { return open_path_in(root, path, O_DIRECTORY); }

Result<OpenedFileRef> open_regular_at(const std::string& path, RemoteFiles remote) {
    auto name = open_file(path, O_PATH);
    if (!name) return fail(std::move(name.error()));
    return shared(open_named(*name, path, remote));
}

}  // namespace perfvigil::analyzer
