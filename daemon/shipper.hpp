// SPDX-License-Identifier: GPL-2.0-or-later
// The thread that ships stored windows: reads them from the store, turns them into what the collector takes, sends them
// in their order. The store is its spool: what waits is a bounded list of ids, and after a restart it goes on behind
// the last one that was taken. Nobody waits for it.
//
//   analyst ─ offer(id) ─▶ ShipQueue ─▶ store ─▶ pprof, otlp ─▶ ShipTarget
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "analyzer/profile.hpp"
#include "config/options.hpp"
#include "daemon/ship_queue.hpp"
#include "daemon/ship_target.hpp"
#include "daemon/spsc_queue.hpp"
#include "daemon/window_info.hpp"

namespace perfvigil::daemon {

class Shipper {
public:
    struct Parts {
        config::ShipOptions options;
        std::string store_directory;
        std::function<std::shared_ptr<const Catalog>()> catalog;
        std::unique_ptr<ShipTarget> target;
        const Clock& clock;
        // An error when windows cannot be shipped, nullopt when one was again.
        std::function<void(const std::optional<Error>&)> report;
    };
    explicit Shipper(Parts parts);
    ~Shipper();  // ends what is under way
    Shipper(const Shipper&) = delete;
    Shipper& operator=(const Shipper&) = delete;

    // Any thread: a window was completed. Those of before the start that were not shipped come first.
    void offer(std::string id);
    [[nodiscard]] ShipCounters counters() const;

private:
    void run(const std::stop_token& stop);
    void take_offers();
    void catch_up();
    void try_one();
    [[nodiscard]] Result<std::string> encoded(const std::string& id) const;
    void remember(const std::string& id);

    Parts parts_;
    std::string mark_path_;  // of the last window that was taken
    ShipQueue queue_;        // this thread's
    bool failing_ = false;
    bool caught_up_ = false;
    mutable std::mutex mutex_;
    std::vector<std::string> offers_;
    ShipCounters published_;
    WakeEvent wake_;
    WakeEvent stop_;
    std::jthread thread_;
};

// What the collector gets; exposed for tests.
[[nodiscard]] std::string shipped_bytes(const analyzer::Profile& profile, config::ShipFormat format);

}  // namespace perfvigil::daemon
