// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/store.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "analyzer/profile/codec.hpp"
#include "base/text.hpp"
#include "base/time_text.hpp"
#include "daemon/log.hpp"
#include "daemon/window_cover.hpp"

namespace perfvigil::daemon {
namespace {

namespace fs = std::filesystem;

// Files removed for their age at a time.
constexpr std::size_t kExpiredAtOnce = 16;
// A roll-up that could not be written is tried again after this long.
constexpr Nanoseconds kRollupRetry = std::chrono::minutes(1);

bool by_end(const std::shared_ptr<const Window>& a, const std::shared_ptr<const Window>& b) {
    return std::pair(a->info.end, std::string_view(a->info.id)) < std::pair(b->info.end, std::string_view(b->info.id));
}

}  // namespace

ProfileStore::ProfileStore(config::StoreOptions options, StoreLimits limits)
    : options_(std::move(options)), limits_(std::move(limits)) {}

void ProfileStore::open() {
    std::error_code error;
    fs::create_directories(options_.directory, error);
    if (error) {
        note_disk(errno_error(error.value(), options_.directory));
    } else if (auto probe = probe_folder(options_.directory); !probe) {
        note_disk(probe.error());
    }
    open_index();
    read_folder();
    make_room(0);
    publish();
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
        const auto info = describe_profile(options_.directory, id);
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
    auto written = unstored_.empty() ? write(info, *bytes) : Result<void>(fail(ErrorCode::kBusy, ""));
    if (written) {
        ++counters_.stored;
        disk_.reset();
        add(std::make_shared<Window>(Window{info, nullptr}));
        index_window(info);
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
        if (auto written = write(window->info, *window->in_memory); !written) return note_disk(written.error());
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

Result<void> ProfileStore::write(const WindowInfo& info, const std::vector<std::byte>& bytes) {
    make_room(bytes.size());
    return write_profile(options_.directory, info.id, bytes);
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

bool ProfileStore::remove(const std::shared_ptr<const Window>& window) {
    if (auto removed = remove_profile(options_.directory, window->info.id); !removed) {
        note_disk(removed.error());
        return false;
    }
    if (index_) (void)index_->remove(window->info.id);
    profile_bytes_ -= window->info.bytes;
    std::erase(catalog_, window);
    return true;
}

// Before so many bytes are written: by the budget, and where others fill the disk, so that we grow no further.
void ProfileStore::make_room(std::uint64_t incoming) {
    std::uint64_t budget = options_.bytes;
    const auto free = limits_.free_bytes(options_.directory);
    if (free && *free < options_.free_bytes) {
        budget = std::min(budget, profile_bytes_);
        space_trouble_ = {"store_space",
                          "the file system of store.dir has less than " + human_bytes(options_.free_bytes) +
                              " left: the store does not grow, its oldest profiles make room for new ones",
                          "free space there, or lower store.free"};
    } else {
        space_trouble_.reset();
    }
    while (profile_bytes_ + incoming > budget) {
        const auto window = first_to_go(catalog_);
        if (window == nullptr || !remove(window)) return;
        ++counters_.removed;
    }
}

void ProfileStore::set_limits(const config::StoreOptions& options) {
    options_.bytes = options.bytes;
    options_.free_bytes = options.free_bytes;
    options_.window_age = options.window_age;
    options_.rollup_age = options.rollup_age;
    options_.archive_age = options.archive_age;
    make_room(0);
    publish();
}

bool ProfileStore::tend(WallTime now, Nanoseconds window) {
    if (rollup_) {
        if (!rollup_->step()) finish_rollup(now);
        return true;
    }
    if (expire(now)) return true;
    if (now < rollup_retry_) return false;
    auto plan = next_rollup(catalog_, options_, window, now, unusable_);
    if (plan) rollup_.emplace(std::move(*plan), options_.directory);
    return rollup_.has_value();
}

bool ProfileStore::expire(WallTime now) {
    bool any = false;
    for (const auto& window : over_age(catalog_, options_, now, kExpiredAtOnce)) {
        if (!remove(window)) break;
        ++counters_.expired;
        any = true;
    }
    if (any) publish();
    return any;
}

void ProfileStore::finish_rollup(WallTime now) {
    const auto& plan = rollup_->plan();
    auto made = rollup_->finish(unique_id(id_of_kind(compact_time(plan.end), plan.kind)));
    for (const auto& [id, why] : rollup_->unusable()) {
        // Gone since it was planned: the budget took it.
        if (why.code == ErrorCode::kNotFound) continue;
        if (unusable_.insert(id).second) ++counters_.unreadable;
        log::warning("profile in the store cannot be rolled up", {{"id", id}, {"why", why.message}});
    }
    rollup_.reset();
    if (!made) return;
    if (auto written = write(made->info, made->bytes); !written) {
        note_disk(written.error());
        rollup_retry_ = now + kRollupRetry;
        return;
    }
    ++counters_.rollups;
    log::debug("windows rolled up", {{"id", made->info.id}, {"parts", made->info.parts}, {"bytes", made->info.bytes}});
    add(std::make_shared<Window>(Window{made->info, nullptr}));
    index_window(made->info);
    publish();
}

void ProfileStore::add(std::shared_ptr<const Window> window) {
    if (window->in_memory == nullptr) profile_bytes_ += window->info.bytes;
    catalog_.insert(std::ranges::upper_bound(catalog_, window, by_end), std::move(window));
}

std::string ProfileStore::unique_id(const std::string& id) const {
    std::string candidate = id;
    // What a roll-up holds is never the name of another window, though its file may be gone: the clock may be set back.
    const auto held = held_ids(catalog_);
    for (int n = 2; find_window(catalog_, candidate) != nullptr || held.contains(candidate); ++n) {
        candidate = id + "-" + std::to_string(n);
    }
    return candidate;
}

void ProfileStore::publish() { published_.set(catalog_); }

void ProfileStore::note_disk(const Error& error) {
    disk_ = {"store", "windows cannot be stored, the latest stay in memory: " + error.message, remedy_for(error)};
}

std::vector<collector::Degraded> ProfileStore::degraded() const {
    std::vector<collector::Degraded> all;
    if (disk_) all.push_back(*disk_);
    if (space_trouble_) all.push_back(*space_trouble_);
    // A disk that refuses everything refuses the index too: one line is enough.
    if (index_trouble_ && !disk_) all.push_back(*index_trouble_);
    return all;
}

std::uint64_t ProfileStore::index_bytes() const { return StoreIndex::file_bytes(index_path(options_.directory)); }

Result<std::vector<std::byte>> read_window(const std::string& directory, const Window& window) {
    if (window.in_memory != nullptr) return *window.in_memory;
    return read_profile(directory, window.info.id);
}

}  // namespace perfvigil::daemon
