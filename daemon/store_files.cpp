// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/store_files.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include <fmt/ranges.h>

#include "analyzer/profile/codec.hpp"
#include "analyzer/profile/parts.hpp"
#include "base/fd.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".profile";
constexpr std::string_view kTemporary = ".partial";
constexpr std::size_t kMaxProfile = 256U << 20;

Result<void> sync_folder(const std::string& directory) {
    const auto folder = open_file(directory, O_RDONLY | O_DIRECTORY);
    if (!folder) return fail(folder.error());
    if (::fsync(folder->get()) != 0) return fail_errno(errno, directory);
    return {};
}

}  // namespace

std::string profile_path(const std::string& directory, std::string_view id) {
    return directory + "/" + std::string(id) + std::string(kSuffix);
}

std::string index_path(const std::string& directory) { return directory + "/index.sqlite"; }

Result<void> probe_folder(const std::string& directory) {
    const std::string path = profile_path(directory, "probe") + std::string(kTemporary);
    const auto fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
    if (!fd) return fail(fd.error());
    ::unlink(path.c_str());
    return {};
}

std::map<std::string, std::uint64_t> list_profiles(const std::string& directory) {
    std::map<std::string, std::uint64_t> found;
    std::error_code error;
    for (fs::directory_iterator i(directory, error), end; !error && i != end; i.increment(error)) {
        const std::string name = i->path().filename();
        std::error_code ignored;
        if (name.ends_with(std::string(kSuffix) + std::string(kTemporary))) fs::remove(i->path(), ignored);
        if (!name.ends_with(kSuffix)) continue;
        const auto id = name.substr(0, name.size() - kSuffix.size());
        const auto size = i->file_size(ignored);
        if (is_window_id(id) && !ignored) found.emplace(id, size);
    }
    return found;
}

Result<void> write_profile(const std::string& directory, std::string_view id, Bytes bytes) {
    const std::string path = profile_path(directory, id);
    const std::string temporary = path + std::string(kTemporary);
    auto fd = open_file(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0640);
    if (!fd) return fail(std::move(fd.error()));
    auto written = write_all(fd->get(), bytes);
    if (written && ::fdatasync(fd->get()) != 0) written = fail_errno(errno, temporary);
    if (written && std::rename(temporary.c_str(), path.c_str()) != 0) written = fail_errno(errno, path);
    if (!written) {
        ::unlink(temporary.c_str());
        return fail(std::move(written.error()).at(temporary));
    }
    return sync_folder(directory);
}

Result<std::vector<std::byte>> read_profile(const std::string& directory, std::string_view id) {
    const auto text = read_file(profile_path(directory, id), kMaxProfile);
    if (!text) return fail(text.error());
    const auto bytes = std::as_bytes(std::span(*text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Result<void> remove_profile(const std::string& directory, std::string_view id) {
    const std::string path = profile_path(directory, id);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail_errno(errno, path);
    return {};
}

Result<WindowInfo> describe_profile(const std::string& directory, const std::string& id) {
    const auto bytes = read_profile(directory, id);
    if (!bytes) return fail(bytes.error());
    auto profile = analyzer::decode_profile(*bytes);
    if (!profile) return fail(std::move(profile.error()).at(profile_path(directory, id)));
    const auto parts = analyzer::parts_of(*bytes);
    if (!parts) return fail(Error(parts.error()).at(profile_path(directory, id)));
    profile->id = id;  // the name is what it is found by
    auto info = describe(*profile, bytes->size());
    info.parts = fmt::format("{}", fmt::join(*parts, " "));
    return info;
}

Result<std::uint64_t> free_bytes(const std::string& directory) {
    struct statvfs room{};
    if (::statvfs(directory.c_str(), &room) != 0) return fail_errno(errno, directory);
    return static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
}

std::string remedy_for(const Error& error) {
    switch (error.error_number) {
        case EROFS: return "mount the file system of store.dir writable, or set store.dir to another folder";
        case ENOSPC:
        case EDQUOT: return "free space on the file system of store.dir, or lower store.bytes";
        case EACCES:
        case EPERM: return "give the daemon's user write permission on store.dir";
        case ENOTDIR:
        case EEXIST: return "store.dir must be a folder";
        case EMFILE:
        case ENFILE: return "raise the limit of open files (LimitNOFILE=, fs.file-max)";
        default: return "see the disk's own messages (dmesg), or set store.dir to another folder";
    }
}

}  // namespace perfvigil::daemon
