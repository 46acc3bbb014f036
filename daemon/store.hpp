// SPDX-License-Identifier: GPL-2.0-or-later
// Completed windows on disk: one file per profile (store_files.hpp), then indexed. Windows are rolled up into longer
// profiles and go when their age is over or the bytes run out (store_upkeep.hpp), a little of that at a time. Where the
// disk refuses, the latest windows stay in memory and are written when it takes them again. Knows nothing of threads or
// HTTP; readers get the catalog.
//
// Thread: the analyst's, except catalog() and read_window().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"
#include "base/error.hpp"
#include "collector/degraded.hpp"
#include "config/options.hpp"
#include "daemon/published.hpp"
#include "daemon/rollup_work.hpp"
#include "daemon/store_files.hpp"
#include "daemon/store_index.hpp"
#include "daemon/window_info.hpp"

namespace perfvigil::daemon {

struct StoreLimits {
    std::size_t memory_windows = 30;  // unstored windows kept; beyond it the oldest is dropped, counted
    std::uint64_t memory_bytes = 32ULL << 20;
    // Free bytes of the folder's file system.
    std::function<Result<std::uint64_t>(const std::string&)> free_bytes = daemon::free_bytes;
};

struct StoreCounters {
    std::uint64_t stored = 0;
    std::uint64_t failed = 0;      // could not be written when they were completed
    std::uint64_t dropped = 0;     // … and never were
    std::uint64_t removed = 0;     // by the byte budget or the space left
    std::uint64_t expired = 0;     // by age
    std::uint64_t rollups = 0;     // made, archives too
    std::uint64_t unreadable = 0;  // files found that hold no profile
};

class ProfileStore {
public:
    explicit ProfileStore(config::StoreOptions options, StoreLimits limits = {});

    // Makes the folder, removes leftovers of a killed daemon, reads the index or rebuilds it from the files. What goes
    // wrong is in degraded(); the store works on in memory.
    void open();

    // Completes a window. Its id becomes unique; returns it.
    std::string put(analyzer::Profile profile);

    // One bounded piece of what there is to do beside that: a part of a roll-up, some files whose age is over. `now`:
    // the end of the newest slice; `window`: how long windows are. False: nothing is left to do.
    bool tend(WallTime now, Nanoseconds window);

    // Bytes, free bytes and ages; the folder and the lengths of roll-ups stay.
    void set_limits(const config::StoreOptions& options);

    // What the disk refuses now: reason "store", "store_space" or "store_index"; empty when all is well.
    [[nodiscard]] std::vector<collector::Degraded> degraded() const;
    [[nodiscard]] const StoreCounters& counters() const { return counters_; }
    [[nodiscard]] std::uint64_t profile_bytes() const { return profile_bytes_; }  // on disk
    [[nodiscard]] std::uint64_t index_bytes() const;

    // Any thread.
    [[nodiscard]] std::shared_ptr<const Catalog> catalog() const { return published_.value(); }

private:
    [[nodiscard]] std::string unique_id(const std::string& id) const;
    [[nodiscard]] Result<void> write(const WindowInfo& info, const std::vector<std::byte>& bytes);
    void read_folder();
    [[nodiscard]] bool remove(const std::shared_ptr<const Window>& window);
    void make_room(std::uint64_t incoming);
    bool expire(WallTime now);
    void finish_rollup(WallTime now);
    void open_index();
    void index_window(const WindowInfo& info);
    void store_waiting();
    void keep_in_memory(std::shared_ptr<const Window> window);
    void add(std::shared_ptr<const Window> window);
    void publish();
    void note_disk(const Error& error);

    config::StoreOptions options_;
    StoreLimits limits_;
    std::optional<StoreIndex> index_;
    Catalog catalog_;                                     // by end
    std::deque<std::shared_ptr<const Window>> unstored_;  // oldest first; in catalog_ too
    std::uint64_t unstored_bytes_ = 0;
    std::uint64_t profile_bytes_ = 0;
    std::optional<collector::Degraded> disk_;
    std::optional<collector::Degraded> index_trouble_;
    std::optional<collector::Degraded> space_trouble_;
    std::optional<RollupWork> rollup_;  // under way
    WallTime rollup_retry_{};           // after one could not be written
    std::set<std::string> unusable_;    // ids of profiles that cannot be rolled up
    StoreCounters counters_;
    Published<Catalog> published_;
};

// The encoded profile of a window of `catalog`, from memory or from its file. kNotFound: the budget took it meanwhile.
// Any thread.
[[nodiscard]] Result<std::vector<std::byte>> read_window(const std::string& directory, const Window& window);

}  // namespace perfvigil::daemon
