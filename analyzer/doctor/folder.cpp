// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/doctor/folder.hpp"

#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.hpp"

namespace perfvigil::analyzer::doctor {
namespace {

namespace fs = std::filesystem;

// linux/magic.h
std::string file_system_name(long magic) {
    switch (static_cast<unsigned long>(magic)) {
        case 0x01021994: return "tmpfs";
        case 0x858458f6: return "ramfs";
        case 0xef53: return "ext4";
        case 0x58465342: return "xfs";
        case 0x9123683e: return "btrfs";
        case 0x6969: return "nfs";
        case 0x794c7630: return "overlay";
        default: return {};
    }
}

constexpr std::size_t kMostFiles = 1'000'000;

std::uint64_t bytes_in(const fs::path& folder) {
    std::uint64_t sum = 0;
    std::size_t seen = 0;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (++seen > kMostFiles) break;
        std::error_code none;
        const auto size = at->is_regular_file(none) ? at->file_size(none) : 0;
        if (!none) sum += size;
    }
    return sum;
}

}  // namespace

FolderFacts gather_folder(const WantedFolder& wanted) {
    FolderFacts facts{.key = wanted.key, .path = wanted.path, .limit = wanted.limit};
    fs::path there = wanted.path;
    std::error_code error;
    while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
    if (!fs::is_directory(there, error)) {
        facts.trouble = there.string() + " is not a folder";
        return facts;
    }
    if (::access(there.c_str(), W_OK | X_OK) != 0) {
        facts.denied = errno == EACCES;
        facts.trouble = errno_error(errno, there.string()).message;
    }
    if (there == wanted.path) facts.used = bytes_in(there);
    struct statvfs room{};
    if (::statvfs(there.c_str(), &room) == 0) facts.free = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
    struct statfs kind{};
    if (::statfs(there.c_str(), &kind) == 0) facts.file_system = file_system_name(kind.f_type);
    return facts;
}

}  // namespace perfvigil::analyzer::doctor
