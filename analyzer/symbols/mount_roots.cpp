// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/mount_roots.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

MountRoots::RootRef open_root(const std::string& process) {
    auto root = open_file(process + "/root", O_PATH | O_DIRECTORY);
    return root ? std::make_shared<const UniqueFd>(std::move(*root)) : nullptr;
}

}  // namespace

MountRoots::MountRoots(MountRootsOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

std::optional<MountRoots::Identity> MountRoots::identify(const std::string& process) {
    struct stat mounts{};
    struct stat root{};
    if (::stat((process + "/ns/mnt").c_str(), &mounts) != 0) return std::nullopt;
    if (::stat((process + "/root").c_str(), &root) != 0) return std::nullopt;
    return Identity{.mount_namespace = mounts.st_ino, .device = root.st_dev, .inode = root.st_ino};
}

MountRoots::RootRef MountRoots::of_process(Pid pid) {
    if (pid.value <= 0) return nullptr;
    const auto process = options_.proc + '/' + std::to_string(pid.value);
    const auto identity = identify(process);
    if (!identity) return nullptr;
    if (const auto known = find(*identity); known != kept_.end()) {
        use(known);
        return kept_.front().root;
    }
    auto root = open_root(process);
    return root == nullptr ? nullptr : keep(*identity, std::move(root));
}

std::vector<MountRoots::Kept>::iterator MountRoots::find(const Identity& identity) {
    return std::ranges::find(kept_, identity, &Kept::identity);
}

void MountRoots::use(std::vector<Kept>::iterator kept) {
    kept->last_used = clock_.monotonic();
    std::rotate(kept_.begin(), kept, kept + 1);
}

MountRoots::RootRef MountRoots::keep(const Identity& identity, RootRef root) {
    while (!kept_.empty() && kept_.size() >= options_.max_open) kept_.pop_back();
    kept_.insert(kept_.begin(), {.identity = identity, .root = root, .last_used = clock_.monotonic()});
    return root;
}

std::vector<MountRoots::RootRef> MountRoots::kept() const {
    std::vector<RootRef> roots;
    roots.reserve(kept_.size());
    for (const auto& kept : kept_) roots.push_back(kept.root);
    return roots;
}

std::vector<MountRoots::RootRef> MountRoots::scan() {
    std::vector<RootRef> found;
    if (clock_.monotonic() < next_scan_) return found;
    next_scan_ = clock_.monotonic() + options_.between_scans;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(options_.proc.c_str()), ::closedir);
    if (folder == nullptr) return found;
    std::size_t scanned = 0;
    while (const dirent* entry = ::readdir(folder.get())) {
        if (!parse_number<std::int32_t>(entry->d_name)) continue;
        if (++scanned > options_.max_scanned || found.size() >= options_.max_open) break;
        const auto process = options_.proc + '/' + entry->d_name;
        const auto identity = identify(process);
        if (!identity || find(*identity) != kept_.end()) continue;
        if (auto root = open_root(process)) found.push_back(keep(*identity, std::move(root)));
    }
    return found;
}

void MountRoots::note_used(const RootRef& root) {
    if (const auto known = std::ranges::find(kept_, root, &Kept::root); known != kept_.end()) use(known);
}

void MountRoots::expire() {
    const auto oldest = clock_.monotonic() - options_.keep_unused;
    std::erase_if(kept_, [&](const Kept& kept) { return kept.last_used < oldest; });
}

}  // namespace perfvigil::analyzer
