// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>

#include "analyzer/profile/codec.hpp"
#include "base/fd.hpp"
#include "daemon/log.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".profile";
constexpr std::string_view kTemporary = ".partial";
constexpr std::size_t kMaxProfile = 256U << 20;

std::string profile_path(const std::string& directory, std::string_view id) {
    return directory + "/" + std::string(id) + std::string(kSuffix);
}

std::string index_path(const std::string& directory) { return directory + "/index.sqlite"; }

Result<void> sync_folder(const std::string& directory) {
    const auto folder = open_file(directory, O_RDONLY | O_DIRECTORY);
    if (!folder) return fail(folder.error());
    if (::fsync(folder->get()) != 0) return fail_errno(errno, directory);
    return {};
}

// What to do about a disk that refuses, by what it said.
std::string remedy_for(const Error& error) {
    switch (error.error_number) {
        case EROFS: return "mount the file system of store.dir writable, or set store.dir to another folder";
        case ENOSPC:
        case EDQUOT: return "free space on the file system of store.dir, or lower store.bytes";
        case EACCES:
        case EPERM: return "give the daemon's user write permission on store.dir";
        case ENOTDIR:
        case EEXIST: return "store.dir must be a folder";
        default: return "see the disk's own messages (dmesg), or set store.dir to another folder";
    }
}

bool by_end(const std::shared_ptr<const Window>& a, const std::shared_ptr<const Window>& b) {
    return std::pair(a->info.end, std::string_view(a->info.id)) < std::pair(b->info.end, std::string_view(b->info.id));
}

// Every profile in the folder with its size; leftovers of a killed daemon are removed.
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

Result<WindowInfo> describe_file(const std::string& path, const std::string& id) {
    const auto text = read_file(path, kMaxProfile);
    if (!text) return fail(text.error());
    auto profile = analyzer::decode_profile(std::as_bytes(std::span(*text)));
    if (!profile) return fail(std::move(profile.error()).at(path));
    profile->id = id;  // the name is what it is found by
    return describe(*profile, text->size());
}

}  // namespace

ProfileStore::ProfileStore(config::StoreOptions options, StoreLimits limits)
    : options_(std::move(options)), limits_(limits) {}

void ProfileStore::open() {
    std::error_code error;
    fs::create_directories(options_.directory, error);
    if (error) {
        note_disk(errno_error(error.value(), options_.directory));
    } else if (auto probe = probe_folder(); !probe) {
        note_disk(probe.error());
    }
    open_index();
    read_folder();
    enforce_budget();
    publish();
}

// Whether a file can be made there at all: better known now than when the first window is complete.
Result<void> ProfileStore::probe_folder() const {
    const std::string path = profile_path(options_.directory, "probe") + std::string(kTemporary);
    const auto fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
    if (!fd) return fail(fd.error());
    ::unlink(path.c_str());
    return {};
}

void ProfileStore::open_index() {
    const std::string path = index_path(options_.directory);
    auto index = StoreIndex::open(path);
    if (!index && index.error().code == ErrorCode::kInvalid) {
        log::warning("index of the store is rebuilt", {{"why", index.error().message}});
        StoreIndex::remove_files(path);
        index = StoreIndex::open(path);
    }
    if (index) {
        index_ = std::move(*index);
        index_trouble_.reset();
        return;
    }
    index_.reset();
    index_trouble_ = {"store_index", "the index of the store cannot be used: " + index.error().message,
                      "make store.dir writable; the index is rebuilt from the profiles at the next start"};
}

// The files are the truth: rows without a file are dropped, files without a row are opened once.
void ProfileStore::read_folder() {
    const auto files = list_profiles(options_.directory);
    std::map<std::string, WindowInfo> rows;
    if (index_) {
        if (auto all = index_->all()) {
            for (auto& row : *all) rows.emplace(row.id, std::move(row));
        }
    }
    for (const auto& [id, row] : rows) {
        if (!files.contains(id)) (void)index_->remove(id);
    }
    for (const auto& [id, size] : files) {
        const auto row = rows.find(id);
        if (row != rows.end() && row->second.bytes == size) {
            add(std::make_shared<Window>(Window{row->second, nullptr}));
            continue;
        }
        const auto info = describe_file(profile_path(options_.directory, id), id);
        if (!info) {
            ++counters_.unreadable;
            log::warning("profile in the store cannot be read", {{"id", id}, {"why", info.error().message}});
            continue;
        }
        add(std::make_shared<Window>(Window{*info, nullptr}));
        index_window(*info);
    }
}

std::string ProfileStore::put(analyzer::Profile profile) {
    profile.id = unique_id(profile.id);
    auto bytes = std::make_shared<const std::vector<std::byte>>(analyzer::encode_profile(profile));
    const WindowInfo info = describe(profile, bytes->size());
    store_waiting();
    // Windows are stored in their order: none passes those that wait.
    auto written = unstored_.empty() ? write_file(info, *bytes) : Result<void>(fail(ErrorCode::kBusy, ""));
    if (written) {
        ++counters_.stored;
        disk_.reset();
        add(std::make_shared<Window>(Window{info, nullptr}));
        index_window(info);
        enforce_budget();
    } else {
        ++counters_.failed;
        if (unstored_.empty()) note_disk(written.error());
        keep_in_memory(std::make_shared<Window>(Window{info, std::move(bytes)}));
    }
    publish();
    return info.id;
}

void ProfileStore::store_waiting() {
    while (!unstored_.empty()) {
        const auto window = unstored_.front();
        if (auto written = write_file(window->info, *window->in_memory); !written) return note_disk(written.error());
        disk_.reset();
        ++counters_.stored;
        unstored_bytes_ -= window->info.bytes;
        unstored_.pop_front();
        std::erase(catalog_, window);
        add(std::make_shared<Window>(Window{window->info, nullptr}));
        index_window(window->info);
    }
}

void ProfileStore::keep_in_memory(std::shared_ptr<const Window> window) {
    unstored_bytes_ += window->info.bytes;
    unstored_.push_back(window);
    add(std::move(window));
    while (unstored_.size() > 1 &&
           (unstored_.size() > limits_.memory_windows || unstored_bytes_ > limits_.memory_bytes)) {
        ++counters_.dropped;
        unstored_bytes_ -= unstored_.front()->info.bytes;
        std::erase(catalog_, unstored_.front());
        unstored_.pop_front();
    }
}

Result<void> ProfileStore::write_file(const WindowInfo& info, const std::vector<std::byte>& bytes) {
    const std::string path = profile_path(options_.directory, info.id);
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
    return sync_folder(options_.directory);
}

void ProfileStore::index_window(const WindowInfo& info) {
    if (!index_) open_index();
    if (!index_) return;
    auto inserted = index_->insert(info);
    if (inserted) return;
    // The window itself is safe; the next start finds its file without a row.
    index_trouble_ = {"store_index", "the index of the store refused a row: " + inserted.error().message,
                      "free space in store.dir; the index is brought up to date at the next start"};
    index_.reset();
}

void ProfileStore::enforce_budget() {
    std::size_t kept = catalog_.size();
    for (std::size_t i = 0; i < catalog_.size() && profile_bytes_ > options_.bytes && kept > 1;) {
        const auto window = catalog_[i];
        if (window->in_memory != nullptr) {
            ++i;
            continue;
        }
        const std::string path = profile_path(options_.directory, window->info.id);
        if (::unlink(path.c_str()) != 0 && errno != ENOENT) return note_disk(errno_error(errno, path));
        if (index_) (void)index_->remove(window->info.id);
        profile_bytes_ -= window->info.bytes;
        catalog_.erase(catalog_.begin() + static_cast<std::ptrdiff_t>(i));
        ++counters_.removed;
        --kept;
    }
}

void ProfileStore::set_budget(std::uint64_t bytes) {
    options_.bytes = bytes;
    enforce_budget();
    publish();
}

void ProfileStore::add(std::shared_ptr<const Window> window) {
    if (window->in_memory == nullptr) profile_bytes_ += window->info.bytes;
    catalog_.insert(std::ranges::upper_bound(catalog_, window, by_end), std::move(window));
}

std::string ProfileStore::unique_id(const std::string& id) const {
    std::string candidate = id;
    for (int n = 2; find_window(catalog_, candidate) != nullptr; ++n) candidate = id + "-" + std::to_string(n);
    return candidate;
}

void ProfileStore::publish() { published_.set(catalog_); }

void ProfileStore::note_disk(const Error& error) {
    disk_ = {"store", "windows cannot be stored, the latest stay in memory: " + error.message, remedy_for(error)};
}

std::vector<collector::Degraded> ProfileStore::degraded() const {
    std::vector<collector::Degraded> all;
    if (disk_) all.push_back(*disk_);
    // A disk that refuses everything refuses the index too: one line is enough.
    if (index_trouble_ && !disk_) all.push_back(*index_trouble_);
    return all;
}

std::uint64_t ProfileStore::index_bytes() const { return StoreIndex::file_bytes(index_path(options_.directory)); }

Result<std::vector<std::byte>> read_window(const std::string& directory, const Window& window) {
    if (window.in_memory != nullptr) return *window.in_memory;
    const auto text = read_file(profile_path(directory, window.info.id), kMaxProfile);
    if (!text) return fail(text.error());
    const auto bytes = std::as_bytes(std::span(*text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace perfvigil::daemon
