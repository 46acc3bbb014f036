// SPDX-License-Identifier: GPL-2.0-or-later
// Completed windows on disk: one file per profile (encode_profile), written beside its name, synced, renamed, then
// indexed; the oldest go when the bytes run out. Where the disk refuses, the latest windows stay in memory and are
// written when it takes them again. Knows nothing of threads or HTTP; readers get the catalog.
//
// Thread: the analyst's, except catalog() and read_window().
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/profile.hpp"
#include "base/error.hpp"
#include "collector/degraded.hpp"
#include "config/options.hpp"
#include "daemon/published.hpp"
#include "daemon/store_index.hpp"
#include "daemon/window_info.hpp"

namespace perfvigil::daemon {

struct StoreLimits {
    std::size_t memory_windows = 30;  // unstored windows kept; beyond it the oldest is dropped, counted
    std::uint64_t memory_bytes = 32ULL << 20;
};

struct StoreCounters {
    std::uint64_t stored = 0;
    std::uint64_t failed = 0;      // could not be written when they were completed
    std::uint64_t dropped = 0;     // … and never were
    std::uint64_t removed = 0;     // by the byte budget
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

    void set_budget(std::uint64_t bytes);

    // What the disk refuses now: reason "store", or "store_index"; empty when all is well.
    [[nodiscard]] std::vector<collector::Degraded> degraded() const;
    [[nodiscard]] const StoreCounters& counters() const { return counters_; }
    [[nodiscard]] std::uint64_t profile_bytes() const { return profile_bytes_; }  // on disk
    [[nodiscard]] std::uint64_t index_bytes() const;

    // Any thread.
    [[nodiscard]] std::shared_ptr<const Catalog> catalog() const { return published_.value(); }

private:
    [[nodiscard]] std::string unique_id(const std::string& id) const;
    [[nodiscard]] Result<void> write_file(const WindowInfo& info, const std::vector<std::byte>& bytes);
    [[nodiscard]] Result<void> probe_folder() const;
    void read_folder();
    void open_index();
    void index_window(const WindowInfo& info);
    void store_waiting();
    void keep_in_memory(std::shared_ptr<const Window> window);
    void enforce_budget();
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
    StoreCounters counters_;
    Published<Catalog> published_;
};

// The encoded profile of a window of `catalog`, from memory or from its file. kNotFound: the budget took it meanwhile.
// Any thread.
[[nodiscard]] Result<std::vector<std::byte>> read_window(const std::string& directory, const Window& window);

}  // namespace perfvigil::daemon
